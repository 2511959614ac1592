-- Times of a file whose base stood behind its events.
UPDATE event SET start_ns = start_ns + $base_ns WHERE file_id = $file_id
