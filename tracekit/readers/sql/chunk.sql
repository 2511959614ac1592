-- A new chunk of events, one row each: they stay here until sort.sql takes them to their tables.
CREATE OR REPLACE TEMP TABLE event (
    file_id INTEGER NOT NULL,
    kind event_kind,
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
    collective JSON,        -- args, where they tell of a collective
    untyped VARCHAR         -- of those kept: a member of args that is no number but should be one
)
