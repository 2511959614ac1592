-- Events of one file that could not be read, each with its place and text.
INSERT INTO event (file_id, skip, name)
SELECT $file_id, $reason, unnest($examples::VARCHAR[])
