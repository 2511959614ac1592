-- Events at time 0 of a file whose clock is elsewhere: its other events start over an hour later.
CREATE OR REPLACE TEMP TABLE at_zero AS
SELECT file_id
FROM kept
WHERE file_id = $file_id
GROUP BY file_id
HAVING min(start_ns) = $base_ns
    AND min(start_ns) FILTER (start_ns <> $base_ns) > $base_ns + 3600000000000;

INSERT INTO skipped
SELECT
    file_id, 'start at 0', count(*),
    any_value('cat ' || kind || ', name ' || left(name, 200) || ', dur ' || dur_ns || ' ns'), NULL, NULL
FROM kept
SEMI JOIN at_zero USING (file_id)
WHERE start_ns = $base_ns
GROUP BY file_id;

DELETE FROM host_call USING at_zero WHERE host_call.file_id = at_zero.file_id AND start_ns = $base_ns;
DELETE FROM host_op USING at_zero WHERE host_op.file_id = at_zero.file_id AND start_ns = $base_ns;
DELETE FROM scope USING at_zero WHERE scope.file_id = at_zero.file_id AND start_ns = $base_ns;
DELETE FROM device_row USING at_zero WHERE device_row.file_id = at_zero.file_id AND start_ns = $base_ns;
DELETE FROM collective_arg USING at_zero WHERE collective_arg.file_id = at_zero.file_id AND start_ns = $base_ns
