-- Events at time 0 of a file whose clock is elsewhere: its other events start over an hour later.
UPDATE event
SET
    skip = 'start at 0',
    name = 'cat ' || kind || ', name ' || left(name, 200) || ', dur ' || dur_ns || ' ns',
    kind = NULL,
    collective = NULL
WHERE
    file_id = $file_id
    AND skip IS NULL
    AND start_ns = $base_ns
    AND (
        SELECT min(start_ns) > $base_ns + 3600000000000
        FROM event
        WHERE file_id = $file_id AND skip IS NULL AND start_ns <> $base_ns
    )
