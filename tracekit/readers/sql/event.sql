-- Why an event is skipped. What is out of order has an example in its row's name.
CREATE TEMP TYPE skip AS ENUM (
    'flow', 'metadata', 'instant', 'counter', 'python_function', 'profiler span', 'overhead',
    'cuda_sync', 'cuda_event', 'cuda_profiler_range', 'front end',
    'not JSON', 'event too long', 'not an event', 'unknown phase', 'unknown category', 'no name',
    'no start', 'no duration', 'negative duration', 'time out of range', 'start at 0'
);

-- Staging table of one ingest: one row per event. Those that are skipped have no kind and stay: after
-- a DELETE, DuckDB's next checkpoint of temporary tables would renumber the rows, and derive/ joins by
-- rowid.
CREATE TEMP TABLE event (
    file_id INTEGER NOT NULL,
    kind ENUM ('kernel', 'memcpy', 'memset', 'call', 'op', 'scope', 'device_scope'),
    skip skip,              -- NULL: kept
    name VARCHAR,           -- of those skipped for a fault: what they were
    thread BIGINT,          -- tid; of `stream 7` 7; of other text a hash
    start_ns BIGINT,        -- base of the file included
    dur_ns BIGINT,
    correlation BIGINT,
    external_id BIGINT,
    device INTEGER,
    stream BIGINT,
    grid VARCHAR,
    block VARCHAR,
    bytes BIGINT,
    graph_id BIGINT,
    graph_node_id BIGINT,
    collective VARCHAR      -- RCCL's Generic kernels tell their collective only in args
);

-- Categories of Kineto since 2021: kept as a kind, or not needed.
CREATE TEMP TABLE category (cat VARCHAR, kind VARCHAR, unneeded VARCHAR);
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
CREATE TEMP MACRO args_as_text(args) AS {
    'correlation': args ->> '$.correlation',
    'External id': coalesce(args ->> '$."External id"', args ->> '$."external id"'),
    'device': args ->> '$.device',
    'stream': args ->> '$.stream',
    'grid': args ->> '$.grid',
    'block': args ->> '$.block',
    'bytes': args ->> '$.bytes',
    'graph id': args ->> '$."graph id"',
    'graph node id': args ->> '$."graph node id"',
    'Collective name': args ->> '$."Collective name"'
};

-- Nanoseconds of microseconds as a lane reads them; NULL out of range. Within a century of 1970, and a
-- day long at most: BIGINT then holds base, start and duration, and the sum of 100 000 durations.
CREATE TEMP MACRO ns_of_decimal(us) AS
    CASE WHEN abs(us) <= 4000000000000000 THEN (us * 1000)::BIGINT END;

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
