-- Events of a source into `event`. A strict source has its args typed, others have them as text.
INSERT INTO event
WITH
raw AS ({source}),
named AS (
    SELECT
        raw.*,
        category.kind,
        CASE
            WHEN ph = 'X' THEN category.unneeded
            WHEN ph IN ('s', 't', 'f') THEN 'flow'
            WHEN ph = 'M' THEN 'metadata'
            WHEN ph IN ('i', 'I', 'R') THEN 'instant'
            WHEN ph = 'C' THEN 'counter'
        END AS unneeded
    FROM raw
    LEFT JOIN category USING (cat)
),
judged AS (
    SELECT
        *,
        CASE
            WHEN unneeded IS NOT NULL THEN NULL
            WHEN ph IS NULL THEN 'not an event'
            WHEN ph <> 'X' THEN 'unknown phase'
            WHEN kind IS NULL THEN 'unknown category'
            WHEN name IS NULL THEN 'no name'
            WHEN ts IS NULL THEN 'no start'
            WHEN dur IS NULL THEN 'no duration'
            WHEN dur < 0 THEN 'negative duration'
            WHEN abs(ts) > 4000000000000000 OR dur > 1000000000000000 THEN 'time out of range'
        END AS fault
    FROM named
),
placed AS (
    SELECT
        *,
        fault IS NULL AND unneeded IS NULL AS is_kept,
        CASE WHEN unneeded IS NULL THEN
            coalesce(
                TRY_CAST(tid AS BIGINT),
                TRY_CAST(regexp_extract(tid, '^stream (\d+)$', 1) AS BIGINT),
                ('0x' || left(md5(tid), 15))::BIGINT
            )
        END AS thread
    FROM judged
)
SELECT
    $file_id,
    CASE WHEN is_kept THEN kind END,
    coalesce(unneeded, fault),
    CASE
        WHEN fault IS NOT NULL THEN concat_ws(
            ', ', 'ph ' || ph, 'cat ' || cat, 'name ' || name, 'ts ' || ts, 'dur ' || dur
        )
        WHEN is_kept OR unneeded = 'profiler span' THEN name
    END,
    CASE WHEN is_kept THEN thread END,
    CASE WHEN is_kept OR unneeded = 'profiler span' THEN (ts * 1000)::BIGINT + $base_ns END,
    CASE WHEN is_kept OR unneeded = 'profiler span' THEN (dur * 1000)::BIGINT END,
    CASE WHEN is_kept THEN TRY_CAST(args.correlation AS BIGINT) END,
    CASE WHEN is_kept THEN TRY_CAST(args."External id" AS BIGINT) END,
    CASE WHEN is_kept THEN TRY_CAST(args.device AS INTEGER) END,
    CASE WHEN is_kept THEN coalesce(
        TRY_CAST(args.stream AS BIGINT),
        CASE WHEN kind IN ('kernel', 'memcpy', 'memset', 'device_scope') THEN thread END
    ) END,
    CASE WHEN is_kept THEN args.grid END,
    CASE WHEN is_kept THEN args.block END,
    CASE WHEN is_kept THEN TRY_CAST(args.bytes AS BIGINT) END,
    CASE WHEN is_kept THEN TRY_CAST(args."graph id" AS BIGINT) END,
    CASE WHEN is_kept THEN TRY_CAST(args."graph node id" AS BIGINT) END,
    CASE WHEN is_kept THEN args."Collective name" END
FROM placed
