-- Events of one file that could not be read, each with its place and text.
INSERT INTO event (file_id, skip, n, name)
SELECT $file_id, $reason, 1, unnest($examples::VARCHAR[])
