-- Staged events into the tables of the host side and a narrow one of the device side.
--
-- Nothing after this needs the staging table; without it the rest of an ingest fits its memory.
--
-- Makes: device_event, host_call, host_op, scope.

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

CREATE TEMP TABLE device_event AS
SELECT
    rowid AS id, file_id, kind::VARCHAR::activity_kind AS kind, name,
    start_ns, dur_ns, device, stream, correlation, external_id,
    -- CUPTI 13.2 writes graph id 0 on everything launched outside graphs.
    nullif(graph_id, 0) AS graph_id,
    CASE WHEN graph_id != 0 THEN graph_node_id END AS graph_node_id,
    grid, block, bytes, collective
FROM event
WHERE kind IN ('kernel', 'memcpy', 'memset');

DROP TABLE event;
