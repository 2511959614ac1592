INSERT INTO event
WITH
raw AS ({source}),
named AS (
    SELECT
        *,
        CASE cat
            WHEN 'kernel' THEN 'kernel'
            WHEN 'cpu_op' THEN 'op'
            WHEN 'cuda_runtime' THEN 'call'
            WHEN 'cuda_driver' THEN 'call'
            WHEN 'gpu_memcpy' THEN 'memcpy'
            WHEN 'gpu_memset' THEN 'memset'
            WHEN 'user_annotation' THEN 'scope'
            WHEN 'gpu_user_annotation' THEN 'device_scope'
            WHEN 'Kernel' THEN 'kernel'
            WHEN 'Operator' THEN 'op'
            WHEN 'Runtime' THEN 'call'
            WHEN 'Memcpy' THEN 'memcpy'
            WHEN 'Memset' THEN 'memset'
            WHEN 'privateuse1_runtime' THEN 'call'
            WHEN 'privateuse1_driver' THEN 'call'
            WHEN 'xpu_runtime' THEN 'call'
            WHEN 'xpu_driver' THEN 'call'
        END AS kind
    FROM raw
),
judged AS (
    SELECT
        *,
        coalesce(
            TRY_CAST(tid AS BIGINT),
            TRY_CAST(regexp_extract(tid, '^stream (\d+)$', 1) AS BIGINT),
            ('0x' || left(md5(tid), 15))::BIGINT
        ) AS thread,
        CASE
            WHEN ph = 'X' THEN CASE
                WHEN kind IS NULL THEN CASE cat
                    WHEN 'python_function' THEN 'python_function'
                    WHEN 'Trace' THEN 'profiler span'
                    WHEN 'overhead' THEN 'overhead'
                    WHEN 'cuda_sync' THEN 'cuda_sync'
                    WHEN 'cuda_profiler_range' THEN 'cuda_profiler_range'
                    ELSE 'unknown category'
                END
                WHEN ts IS NULL THEN 'no start'
                WHEN dur IS NULL THEN 'no duration'
                WHEN dur < 0 THEN 'negative duration'
                WHEN name IS NULL THEN 'no name'
            END
            WHEN ph IN ('s', 't', 'f') THEN 'flow'
            WHEN ph = 'M' THEN 'metadata'
            WHEN ph IN ('i', 'I', 'R') THEN 'instant'
            WHEN ph = 'C' THEN 'counter'
            WHEN ph IS NULL THEN 'no event'
            ELSE 'unknown phase'
        END AS skip
    FROM named
)
SELECT
    $file_id,
    CASE WHEN skip IS NULL THEN kind END,
    skip,
    CASE WHEN skip IS NULL OR skip NOT IN ('flow', 'metadata', 'instant', 'python_function') THEN name END,
    CASE WHEN skip IS NULL THEN thread END,
    CASE WHEN skip IS NULL OR skip = 'profiler span' THEN (ts * 1000)::BIGINT + $base_ns END,
    CASE WHEN skip IS NULL OR skip = 'profiler span' THEN (dur * 1000)::BIGINT END,
    CASE WHEN skip IS NULL THEN TRY_CAST(args.correlation AS BIGINT) END,
    CASE WHEN skip IS NULL THEN TRY_CAST(args."External id" AS BIGINT) END,
    CASE WHEN skip IS NULL THEN TRY_CAST(args.device AS INTEGER) END,
    CASE WHEN skip IS NULL THEN coalesce(
        TRY_CAST(args.stream AS BIGINT),
        CASE WHEN kind IN ('kernel', 'memcpy', 'memset', 'device_scope') THEN thread END
    ) END,
    CASE WHEN skip IS NULL THEN args.grid END,
    CASE WHEN skip IS NULL THEN args.block END,
    CASE WHEN skip IS NULL THEN TRY_CAST(args.bytes AS BIGINT) END,
    CASE WHEN skip IS NULL THEN TRY_CAST(args."graph id" AS BIGINT) END,
    CASE WHEN skip IS NULL THEN TRY_CAST(args."graph node id" AS BIGINT) END,
    CASE WHEN skip IS NULL THEN args."Collective name" END
FROM judged
