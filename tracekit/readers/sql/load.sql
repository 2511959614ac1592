-- Events of a source into `event`: those kept, and how many were skipped for which reason.
-- A strict source has its args typed, others have them as text.
INSERT INTO event BY NAME
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
        END AS unneeded,
        -- A duration is a day at most: BIGINT holds the sum of 100 000 of those in ns. A start is
        -- within 127 years of 1970, so that base, start and duration fit as well.
        abs(ts) <= 4000000000000000 AND dur BETWEEN 0 AND 86400000000 AS is_in_range
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
            WHEN NOT is_in_range THEN 'time out of range'
        END AS fault
    FROM named
),
-- Both branches below share one pass over the source; what it holds is kept narrow.
shaped AS MATERIALIZED (
    SELECT
        coalesce(unneeded, fault) AS skip,
        kind,
        CASE
            WHEN skip IS NULL OR unneeded = 'profiler span' THEN name
            WHEN fault IS NOT NULL THEN concat_ws(
                ', ', 'ph ' || ph, 'cat ' || cat, 'name ' || left(name, 200), 'ts ' || ts, 'dur ' || dur
            )
        END AS name,
        CASE WHEN skip IS NULL THEN coalesce(
            TRY_CAST(tid AS BIGINT),
            TRY_CAST(regexp_extract(tid, '^stream (\d+)$', 1) AS BIGINT),
            ('0x' || left(md5(tid), 15))::BIGINT
        ) END AS thread,
        CASE WHEN is_in_range AND (skip IS NULL OR unneeded = 'profiler span')
            THEN (ts * 1000)::BIGINT
        END AS ts_ns,
        CASE WHEN is_in_range AND (skip IS NULL OR unneeded = 'profiler span')
            THEN (dur * 1000)::BIGINT
        END AS dur_ns,
        TRY_CAST(args.correlation AS BIGINT) AS correlation,
        TRY_CAST(args."External id" AS BIGINT) AS external_id,
        TRY_CAST(args.device AS INTEGER) AS device,
        TRY_CAST(args.stream AS BIGINT) AS stream,
        args.grid AS grid,
        args.block AS block,
        TRY_CAST(args.bytes AS BIGINT) AS bytes,
        TRY_CAST(args."graph id" AS BIGINT) AS graph_id,
        TRY_CAST(args."graph node id" AS BIGINT) AS graph_node_id,
        args."Collective name" AS collective
    FROM judged
)
SELECT
    $file_id AS file_id,
    kind,
    1 AS n,
    name,
    thread,
    ts_ns + $base_ns AS start_ns,
    dur_ns,
    correlation,
    external_id,
    device,
    coalesce(
        stream, CASE WHEN kind IN ('kernel', 'memcpy', 'memset', 'device_scope') THEN thread END
    ) AS stream,
    grid,
    block,
    bytes,
    graph_id,
    graph_node_id,
    collective
FROM shaped
WHERE skip IS NULL
UNION ALL BY NAME
SELECT
    $file_id AS file_id,
    skip,
    count(*) AS n,
    any_value(name) AS name,
    min(ts_ns) + $base_ns AS start_ns,
    max(ts_ns + dur_ns) - min(ts_ns) AS dur_ns
FROM shaped
WHERE skip IS NOT NULL
GROUP BY skip, CASE WHEN skip = 'profiler span' THEN name END
