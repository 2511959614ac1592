-- Staging table of one ingest: every event of the traces, skipped ones as (file_id, skip) until they are counted.
CREATE TEMP TABLE event (
    file_id INTEGER NOT NULL,
    kind ENUM ('kernel', 'memcpy', 'memset', 'call', 'op', 'scope', 'device_scope'),
    skip VARCHAR,
    name VARCHAR,
    thread BIGINT,
    start_ns BIGINT,
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
    collective VARCHAR
);
