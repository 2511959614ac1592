-- A chunk of events to the tables they belong to, and what was skipped of it as counts.
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

INSERT INTO device_row
SELECT
    file_id, kind::VARCHAR::activity_kind, name,
    start_ns, dur_ns, device, stream, correlation, external_id,
    -- CUPTI 13.2 writes graph id 0 on everything launched outside graphs.
    nullif(graph_id, 0), CASE WHEN graph_id != 0 THEN graph_node_id END,
    grid, block, bytes, collective ->> '$."Collective name"'
FROM event
WHERE kind IN ('kernel', 'memcpy', 'memset');

INSERT INTO collective_arg
SELECT
    file_id, kind, name, thread, start_ns, dur_ns, external_id, correlation,
    args."Collective name", args.dtype, args."In msg nelems", args."Out msg nelems", args."Group size",
    args."Process Group Name", args."Process Group Description", args."Process Group Ranks", args.Seq,
    args."Input Dims", args."Input type"
FROM (
    SELECT *, json_transform(collective, '{
        "Collective name": "VARCHAR",
        "dtype": "VARCHAR",
        "In msg nelems": "DECIMAL(22, 3)",
        "Out msg nelems": "DECIMAL(22, 3)",
        "Group size": "BIGINT",
        "Process Group Name": "VARCHAR",
        "Process Group Description": "VARCHAR",
        "Process Group Ranks": "VARCHAR",
        "Seq": "BIGINT",
        "Input Dims": "VARCHAR",
        "Input type": "VARCHAR"
    }') AS args
    FROM event
    WHERE kind IN ('kernel', 'op', 'scope') AND collective IS NOT NULL
);

INSERT INTO skipped
SELECT file_id, skip, count(*), any_value(name), min(start_ns), max(start_ns + dur_ns)
FROM event
WHERE skip IS NOT NULL
GROUP BY file_id, skip, CASE WHEN skip = 'profiler span' THEN name END;

INSERT INTO untyped
SELECT file_id, count(*), any_value(untyped)
FROM event
WHERE untyped IS NOT NULL
GROUP BY file_id
