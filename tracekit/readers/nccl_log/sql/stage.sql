-- What NCCL's logs say as they are read: which of it is to be believed is known at the end of a file only.
-- No temporary tables: the threads that fill them have connections of their own.
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
);

-- Messages that need no other line to be understood.
CREATE OR REPLACE TABLE nccl_said (
    file_id INTEGER,
    at_byte BIGINT,
    tail_at_byte BIGINT,
    stamp VARCHAR,
    host VARCHAR,
    pid BIGINT,
    tid BIGINT,
    form VARCHAR,  -- info, warning, or model (a row of its table, as JSON)
    place VARCHAR,  -- of a warning
    text VARCHAR,  -- NULL where nobody asks for it
    is_doubtful BOOLEAN  -- whether it may end in the tail of another process's line; NULL: see nccl_head
);

CREATE OR REPLACE TABLE nccl_born AS
SELECT
    * EXCLUDE (run),
    NULL::BIGINT AS initialised_at_byte  -- of Init COMPLETE; NULL where it is lost
FROM nccl_comm
LIMIT 0;

-- Heads of torn lines, in the order of the file: what begins alike behind them is in doubt.
CREATE OR REPLACE TABLE nccl_head (
    file_id INTEGER,
    place INTEGER,
    at_byte BIGINT,
    host VARCHAR,
    pid BIGINT,
    beginning VARCHAR
);

CREATE OR REPLACE TEMP MACRO nccl_moment_ns(moment) AS
    CASE
        WHEN regexp_matches(moment, ' [+-]\d\d\d\d$') THEN
            epoch_ns(TRY_CAST(moment[:-7] AS TIMESTAMP_NS))
            - moment[-5:-3]::BIGINT * 3600000000000
            - (moment[-5] || moment[-2:])::BIGINT * 60000000000
        ELSE epoch_ns(TRY_CAST(moment AS TIMESTAMP_NS))
    END;

CREATE OR REPLACE TEMP MACRO nccl_logged_ns(stamp) AS nccl_moment_ns(rtrim(stamp, ']'))
