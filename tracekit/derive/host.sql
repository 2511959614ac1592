-- Host side as tables: calls, ops and annotations, straight from the staged events.

INSERT INTO host_call
SELECT $run, file_id, thread, start_ns, dur_ns, name, correlation
FROM event
WHERE kind = 'call';

INSERT INTO host_op
SELECT $run, file_id, thread, start_ns, dur_ns, name, external_id
FROM event
WHERE kind = 'op';

INSERT INTO scope
SELECT $run, file_id, kind = 'device_scope', coalesce(stream, thread), start_ns, dur_ns, name
FROM event
WHERE kind IN ('scope', 'device_scope');
