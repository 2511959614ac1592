-- Calls of NCCL's logs as they are read: which of them are to be believed is known at the end of a file only.
-- No temporary table: the threads that fill it have connections of their own.
CREATE OR REPLACE TABLE nccl_stage (
    file_id INTEGER,
    at_byte BIGINT,
    tail_at_byte BIGINT,  -- of a line put together from two pieces; NULL of all others
    source VARCHAR,
    stamp VARCHAR,
    host VARCHAR,
    pid BIGINT,
    tid BIGINT,
    comm VARCHAR,
    global_rank INTEGER,
    n_ranks INTEGER,
    collective VARCHAR,
    op_count BIGINT,
    n_elements BIGINT,
    dtype_code INTEGER,
    reduction_code INTEGER,
    root INTEGER,
    is_in_place BOOLEAN,
    stream VARCHAR
)
