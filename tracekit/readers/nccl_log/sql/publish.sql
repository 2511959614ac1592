-- Calls of one file to `nccl_call`, but for those in doubt; what is in doubt stays in the stage.
CREATE OR REPLACE TEMP TABLE nccl_refused AS
SELECT stage.at_byte, doubt.is_joined
FROM nccl_stage AS stage
JOIN nccl_doubt AS doubt
    ON doubt.host = stage.host AND doubt.pid = stage.pid AND doubt.comm = stage.comm
    AND doubt.n_ranks IS NOT DISTINCT FROM stage.n_ranks AND doubt.stream = stage.stream
    AND doubt.global_rank IS NOT DISTINCT FROM stage.global_rank
WHERE stage.file_id = $file_id AND (NOT doubt.is_joined OR stage.at_byte >= $torn_at)
UNION
SELECT stage.at_byte, true
FROM nccl_stage AS stage
WHERE stage.file_id = $file_id AND stage.tail_at_byte IS NOT NULL AND stage.at_byte IN (FROM nccl_unmended);

-- A pointer is used again once its communicator is gone.
CREATE OR REPLACE TEMP TABLE nccl_life AS
SELECT
    host, pid, comm, rank, n_ranks, at_byte AS from_byte,
    coalesce(
        lead(at_byte) OVER (PARTITION BY host, pid, comm ORDER BY at_byte), 9223372036854775807
    ) AS to_byte
FROM nccl_comm
WHERE run = $run AND file_id = $file_id;

INSERT INTO nccl_call BY NAME
WITH code AS (
    -- Source: NCCL's nccl.h, ncclDataType_t and ncclRedOp_t.
    SELECT
        ['int8', 'uint8', 'int32', 'uint32', 'int64', 'uint64', 'float16', 'float32', 'float64', 'bfloat16',
            'float8e4m3', 'float8e5m2'] AS dtype,
        [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1] AS size,
        ['sum', 'prod', 'max', 'min', 'avg'] AS reduction
),

call AS (
    FROM nccl_stage
    WHERE file_id = $file_id AND at_byte NOT IN (SELECT at_byte FROM nccl_refused)
)

SELECT
    $run AS run,
    $file_id AS file_id,
    call.at_byte,
    call.source,
    nccl_logged_ns(call.stamp) AS logged_ns,
    call.host,
    call.pid,
    call.tid,
    call.comm,
    coalesce(call.global_rank, life.rank) AS rank,
    coalesce(call.n_ranks, life.n_ranks) AS n_ranks,
    call.collective,
    coalesce(category.category, 'collective_other') AS category,
    call.op_count,
    call.n_elements,
    code.dtype[call.dtype_code + 1] AS dtype,
    CASE WHEN call.collective IN ('AllReduce', 'ReduceScatter', 'Reduce', 'mscclpp_ncclAllReduce')
        THEN code.reduction[call.reduction_code + 1]
    END AS reduction,
    call.root,
    TRY_CAST(
        call.n_elements::HUGEINT * code.size[call.dtype_code + 1] * CASE
            WHEN regexp_matches(call.collective, 'Gather$|^Scatter$|^ReduceScatter$|^All[tT]oAll')
                THEN coalesce(call.n_ranks, life.n_ranks)
            ELSE 1
        END AS BIGINT
    ) AS bytes,
    call.is_in_place,
    call.stream
FROM call
CROSS JOIN code
LEFT JOIN nccl_category AS category ON category.collective = call.collective
LEFT JOIN nccl_life AS life
    ON life.host = call.host AND life.pid = call.pid AND life.comm = call.comm
    AND call.at_byte >= life.from_byte AND call.at_byte < life.to_byte;

DELETE FROM nccl_stage WHERE file_id = $file_id
