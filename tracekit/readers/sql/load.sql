-- Events of a source into `event`: those kept, and of the others why they are skipped.
-- {ns_of_ts} and {ns_of_dur} make nanoseconds of the source's microseconds, {collective} is what to
-- keep of a collective, {untyped} what of args is no number.
INSERT INTO event BY NAME
WITH
timed AS (
    SELECT
        raw.* EXCLUDE (ts, dur),
        ts,
        dur,
        {ns_of_ts}(ts) AS ts_ns,
        {ns_of_dur}(dur) AS dur_ns,
        category.kind,
        category.unneeded
    FROM ({source}) AS raw
    LEFT JOIN category USING (cat)
),
judged AS (
    SELECT
        * EXCLUDE (kind, unneeded),
        -- What is right comes first: most events are, and the rest is not looked at then.
        CASE
            WHEN ph = 'X' AND kind IS NOT NULL AND name IS NOT NULL
                AND ts_ns IS NOT NULL AND dur_ns BETWEEN 0 AND 86400000000000
                THEN CASE WHEN $is_frontend THEN 'front end' END
            WHEN ph IN ('s', 't', 'f') THEN 'flow'
            WHEN ph = 'M' THEN 'metadata'
            WHEN ph IN ('i', 'I', 'R') THEN 'instant'
            WHEN ph = 'C' THEN 'counter'
            WHEN ph IS NULL THEN 'not an event'
            WHEN ph <> 'X' THEN 'unknown phase'
            WHEN unneeded IS NOT NULL THEN unneeded
            WHEN kind IS NULL THEN 'unknown category'
            WHEN name IS NULL THEN 'no name'
            WHEN ts IS NULL THEN 'no start'
            WHEN dur IS NULL THEN 'no duration'
            WHEN dur < 0 THEN 'negative duration'
            ELSE 'time out of range'
        END AS skip,
        CASE WHEN skip IS NULL THEN kind END AS kind,
        unneeded IS NULL AND skip NOT IN ('flow', 'metadata', 'instant', 'counter', 'front end') AS is_fault
    FROM timed
)
SELECT
    $file_id AS file_id,
    kind,
    skip,
    CASE
        WHEN skip IS NULL OR skip = 'profiler span' THEN name
        WHEN is_fault THEN concat_ws(
            ', ', 'ph ' || ph, 'cat ' || cat, 'name ' || left(name, 200), 'ts ' || ts, 'dur ' || dur
        )
    END AS name,
    coalesce(
        TRY_CAST(tid AS BIGINT),
        TRY_CAST(regexp_extract(tid, '^stream (\d+)$', 1) AS BIGINT),
        ('0x' || left(md5(tid), 15))::BIGINT
    ) AS thread,
    ts_ns + $base_ns AS start_ns,
    dur_ns,
    TRY_CAST(args.correlation AS BIGINT) AS correlation,
    TRY_CAST(args."External id" AS BIGINT) AS external_id,
    TRY_CAST(args.device AS INTEGER) AS device,
    coalesce(
        TRY_CAST(args.stream AS BIGINT),
        CASE WHEN kind IN ('kernel', 'memcpy', 'memset', 'device_scope') THEN thread END
    ) AS stream,
    args.grid AS grid,
    args.block AS block,
    TRY_CAST(args.bytes AS BIGINT) AS bytes,
    TRY_CAST(args."graph id" AS BIGINT) AS graph_id,
    TRY_CAST(args."graph node id" AS BIGINT) AS graph_node_id,
    CASE
        WHEN args."Collective name" IS NOT NULL
            OR args."Input Dims" IS NOT NULL AND regexp_matches(name, $collective_op)
            THEN {collective}
    END AS collective,
    CASE WHEN skip IS NULL THEN {untyped} END AS untyped
FROM judged
