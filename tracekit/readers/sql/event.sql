-- Staging table of one ingest: one row per event that is kept (skip is NULL), and some rows without
-- a kind that tell how many were skipped for which reason. Those stay: after a DELETE, DuckDB's
-- next checkpoint of temporary tables would renumber the rows, and derive/ joins by rowid.
CREATE TEMP TABLE event (
    file_id INTEGER NOT NULL,
    kind ENUM ('kernel', 'memcpy', 'memset', 'call', 'op', 'scope', 'device_scope'),
    skip VARCHAR,           -- NULL: kept
    n INTEGER,              -- events of the row: 1 where kept
    name VARCHAR,           -- of those skipped for a fault: one of them
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
