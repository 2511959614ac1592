-- Tables, types and macros of one ingest's reading; chunk.sql adds the table that events go to first.

-- Why an event is skipped. What is out of order has an example in its row's name.
CREATE TEMP TYPE skip AS ENUM (
    'flow', 'metadata', 'instant', 'counter', 'python_function', 'profiler span', 'overhead',
    'cuda_sync', 'cuda_event', 'cuda_profiler_range', 'front end',
    'not JSON', 'event too long', 'not an event', 'unknown phase', 'unknown category', 'no name',
    'no start', 'no duration', 'negative duration', 'time out of range', 'start at 0'
);

CREATE TEMP TYPE event_kind AS ENUM ('kernel', 'memcpy', 'memset', 'call', 'op', 'scope', 'device_scope');

-- Kept events of the device, until derive/ has made activities of them.
CREATE TEMP TABLE device_row (
    file_id INTEGER,
    kind activity_kind,
    name VARCHAR,
    start_ns BIGINT,
    dur_ns BIGINT,
    device INTEGER,
    stream BIGINT,
    correlation BIGINT,
    external_id BIGINT,
    graph_id BIGINT,
    graph_node_id BIGINT,
    grid VARCHAR,
    block VARCHAR,
    bytes BIGINT,
    collective VARCHAR      -- RCCL's Generic kernels tell their collective only in args
);
-- Numbers from a sequence would keep inserts to one thread.
CREATE TEMP VIEW device_event AS SELECT rowid AS id, * FROM device_row;

-- What kept events tell of collectives: one row per event with "Collective name" in its args, or host
-- op or span of a collective with shapes. Kernels are found again in device_event by file, start and
-- name, ops in host_op and spans in scope by file, thread, start and name.
CREATE TEMP TABLE collective_arg (
    file_id INTEGER,
    kind VARCHAR,           -- kernel, op, scope
    name VARCHAR,
    thread BIGINT,
    start_ns BIGINT,
    dur_ns BIGINT,
    external_id BIGINT,
    correlation BIGINT,
    collective VARCHAR,     -- "Collective name"; NULL where only shapes tell, as for what follows
    dtype VARCHAR,          -- name in torch: BFloat16
    n_in DECIMAL(22, 3),    -- elements a rank gives
    n_out DECIMAL(22, 3),   -- elements a rank gets
    group_size BIGINT,      -- ranks
    pg_name VARCHAR,
    pg_desc VARCHAR,
    pg_ranks VARCHAR,       -- text of a list, cut by torch past 30 ranks: [0, 1, ...]
    seq BIGINT,             -- place in the order of the process group
    in_dims VARCHAR,        -- JSON text of "Input Dims": [[], [17, 256]]
    in_types VARCHAR        -- JSON text of "Input type": ["Scalar", "c10::BFloat16"]
);

-- What was skipped, some rows per file and reason: `n` events, one of them if it was a fault.
CREATE TEMP TABLE skipped (
    file_id INTEGER, skip skip, n BIGINT, name VARCHAR, start_ns BIGINT, end_ns BIGINT
);

-- Kept events with a member of args that is no number but should be one, some rows per file.
CREATE TEMP TABLE untyped (file_id INTEGER, n BIGINT, example VARCHAR);

-- Every event that is kept, wherever it is by now.
CREATE TEMP VIEW kept AS
SELECT file_id, 'call' AS kind, name, thread, start_ns, dur_ns, correlation FROM host_call
UNION ALL BY NAME
SELECT file_id, 'op' AS kind, name, thread, start_ns, dur_ns, external_id FROM host_op
UNION ALL BY NAME
SELECT
    file_id, CASE WHEN is_device THEN 'device_scope' ELSE 'scope' END AS kind, name,
    thread, CASE WHEN is_device THEN thread END AS stream, start_ns, dur_ns
FROM scope
UNION ALL BY NAME
FROM device_event;

-- Categories of Kineto since 2021: kept as a kind, or not needed.
CREATE TEMP TABLE category (cat VARCHAR, kind event_kind, unneeded VARCHAR);
INSERT INTO category VALUES
    ('kernel', 'kernel', NULL),
    ('Kernel', 'kernel', NULL),
    ('gpu_memcpy', 'memcpy', NULL),
    ('Memcpy', 'memcpy', NULL),
    ('gpu_memset', 'memset', NULL),
    ('Memset', 'memset', NULL),
    ('cuda_runtime', 'call', NULL),     -- HIP writes it too
    ('cuda_driver', 'call', NULL),
    ('xpu_runtime', 'call', NULL),
    ('xpu_driver', 'call', NULL),
    ('privateuse1_runtime', 'call', NULL),
    ('privateuse1_driver', 'call', NULL),
    ('Runtime', 'call', NULL),
    ('cpu_op', 'op', NULL),
    ('Operator', 'op', NULL),
    ('user_annotation', 'scope', NULL),
    ('gpu_user_annotation', 'device_scope', NULL),
    ('python_function', NULL, 'python_function'),
    ('Trace', NULL, 'profiler span'),
    ('overhead', NULL, 'overhead'),
    ('cuda_sync', NULL, 'cuda_sync'),
    ('cuda_event', NULL, 'cuda_event'),
    ('cuda_profiler_range', NULL, 'cuda_profiler_range');

-- Members of args that are read, as text. In 2021 kernels had `external id`, operators `External id`.
-- Parsed once for all of them: `->>` parses for each.
CREATE TEMP MACRO args_as_text(args) AS struct_update(
    json_transform(args, '{
        "correlation": "VARCHAR",
        "External id": "VARCHAR",
        "device": "VARCHAR",
        "stream": "VARCHAR",
        "grid": "VARCHAR",
        "block": "VARCHAR",
        "bytes": "VARCHAR",
        "graph id": "VARCHAR",
        "graph node id": "VARCHAR",
        "Collective name": "VARCHAR",
        "dtype": "VARCHAR",
        "In msg nelems": "VARCHAR",
        "Out msg nelems": "VARCHAR",
        "Group size": "VARCHAR",
        "Process Group Name": "VARCHAR",
        "Process Group Description": "VARCHAR",
        "Process Group Ranks": "VARCHAR",
        "Seq": "VARCHAR",
        "Input Dims": "VARCHAR",
        "Input type": "VARCHAR"
    }'),
    "External id" := coalesce(args ->> '$."External id"', args ->> '$."external id"')
);

-- The first of these members that is there but is no number, with its text; the event is kept without.
CREATE TEMP MACRO no_number(text) AS text IS NOT NULL AND TRY_CAST(text AS BIGINT) IS NULL;
CREATE TEMP MACRO untyped_member(args) AS
    CASE
        WHEN no_number(args.correlation) THEN 'correlation ' || args.correlation
        WHEN no_number(args."External id") THEN 'External id ' || args."External id"
        WHEN no_number(args.device) THEN 'device ' || args.device
        WHEN no_number(args.stream) THEN 'stream ' || args.stream
        WHEN no_number(args.bytes) THEN 'bytes ' || args.bytes
        WHEN no_number(args."graph id") THEN 'graph id ' || args."graph id"
        WHEN no_number(args."graph node id") THEN 'graph node id ' || args."graph node id"
        WHEN no_number(args."In msg nelems") THEN 'In msg nelems ' || args."In msg nelems"
        WHEN no_number(args."Out msg nelems") THEN 'Out msg nelems ' || args."Out msg nelems"
        WHEN no_number(args."Group size") THEN 'Group size ' || args."Group size"
        WHEN no_number(args.Seq) THEN 'Seq ' || args.Seq
    END;

-- Nanoseconds of microseconds as a lane reads them; NULL out of range. Within a century of 1970, and a
-- day long at most: BIGINT then holds base, start and duration, and the sum of 100 000 durations.
-- In 18 digits, within 10^15 of zero or of the year 2033, that takes 20 ns; in 38 digits 170.
CREATE TEMP MACRO ns_of_18_digits(us) AS trunc(us)::BIGINT * 1000 + (us % 1 * 1000)::BIGINT;
CREATE TEMP MACRO ns_of_decimal(us) AS
    CASE
        WHEN abs(us) < 1000000000000000 THEN ns_of_18_digits(TRY_CAST(us AS DECIMAL(18, 3)))
        WHEN us > 1000000000000000 AND us < 3000000000000000
            THEN ns_of_18_digits(TRY_CAST(us - 2000000000000000 AS DECIMAL(18, 3))) + 2000000000000000000
        WHEN abs(us) <= 4000000000000000 THEN (us * 1000)::BIGINT
    END;

-- DOUBLE is exact for three decimals below 2^43, where neighbours are less than a nanosecond apart, and
-- for whole microseconds. Anything else fails the query, for an exact lane; only, far from zero, decimals
-- near .0 look whole: a file that begins with whole microseconds has to have no others.
CREATE TEMP MACRO ns_of_small(us) AS
    CASE
        WHEN us IS NULL THEN NULL
        WHEN abs(us) < 8796093022208
            THEN trunc(us)::BIGINT * 1000 + round((us - trunc(us)) * 1000)::BIGINT
        ELSE error('too far from zero for DOUBLE')::BIGINT
    END;
CREATE TEMP MACRO ns_of_whole(us) AS
    CASE
        WHEN us IS NULL OR abs(us) > 4000000000000000 THEN NULL
        WHEN us = trunc(us) THEN us::BIGINT * 1000
        ELSE error('not whole microseconds')::BIGINT
    END;
