-- What ran on the device in a window of a step: each activity, and where there are too many the short ones in blocks.
--
-- Answers: what does the device do in this step, stream by stream and rank by rank?
-- Grain: one row per activity or block, by rank, stream and start.
-- Params:
--   $run VARCHAR: run to read.
--   $step INTEGER: step whose start is 0 of all times; ranks do not start together: the first of them.
--   $dp INTEGER = NULL: data-parallel engine; NULL = the first that has the step.
--   $rank INTEGER = NULL: only this rank; NULL = all.
--   $from_ns BIGINT = 0: start of the window.
--   $to_ns BIGINT = NULL: end of the window; NULL = the end of the step, of the rank that ends it last.
--   $top INTEGER = 2000: activities to give one by one, the longest of the window; those between them are blocks.
-- Columns:
--   dp INTEGER: data-parallel engine.
--   rank INTEGER: rank; NULL where unknown.
--   stream BIGINT: stream of the device; on CPU the thread.
--   is_main BOOLEAN: true for the stream with most kernel time in the step.
--   n BIGINT: activities: 1, or of a block how many.
--   start_ns BIGINT: start, after that of the step; on clocks corrected as those of collectives are.
--   dur_ns BIGINT: duration; of a block from its first start to its last end.
--   sum_ns BIGINT: durations added up.
--   queued_ns BIGINT: time from its launch call to its start; NULL for blocks and where the trace has no such call.
--   name VARCHAR: name exactly as in the trace; NULL for blocks.
--   category VARCHAR: category; of a block the one with most time.
--   impl VARCHAR: implementation; NULL for blocks and where the rule names none.
--   phase VARCHAR: phase; of a block the one with most time.
--   op VARCHAR: host op that launched it; NULL for blocks and where the trace has none.
--   bytes BIGINT: bytes copied or set; NULL for all else.
--   step INTEGER: step it belongs to by its launch: a neighbour's where that overhangs; NULL where none can be told.
--   n_window BIGINT: activities of the window, over all rows.
--   step_ns BIGINT: length of the step, from 0 to the end of the rank that ends it last.
-- Limits: a block ends where a longer activity begins, or a gap of a 500th of the window or more.

WITH spans AS (
    SELECT
        steps.dp, steps.rank, steps.start_ns, dur_ns, main_stream,
        CASE WHEN is_applied
            THEN offset_ns + (drift_ppm / 1e6 * (steps.start_ns - clock_offset.origin_ns))::BIGINT
            ELSE 0
        END AS offset_ns
    FROM steps
    LEFT JOIN clock_offset
        ON clock_offset.run = steps.run
        AND clock_offset.dp = steps.dp
        AND clock_offset.rank IS NOT DISTINCT FROM steps.rank
    WHERE steps.run = $run AND step = $step AND dur_ns IS NOT NULL AND ($dp IS NULL OR steps.dp = $dp)
    QUALIFY steps.dp = min(steps.dp) OVER ()
),

origin AS (
    SELECT
        min(start_ns + offset_ns) AS origin_ns,
        max(start_ns + offset_ns + dur_ns) - origin_ns AS step_ns,
        coalesce($to_ns, step_ns) AS to_ns,
        origin_ns + $from_ns - max(offset_ns) AS earliest_ns,
        origin_ns + to_ns - min(offset_ns) AS latest_ns
    FROM spans
),

-- The two bounds of raw times are for speed: of millions of activities the join sees those near the window.
found AS (
    SELECT
        activities.dp, activities.rank, stream, activity_id, at_ns, dur_ns, start_ns - launch_ns AS queued_ns,
        name, category, impl, phase, op, bytes, step, main_stream, step_ns, to_ns
    FROM activities
    INNER JOIN (SELECT dp, rank, offset_ns, main_stream FROM spans) AS spans
        ON spans.dp = activities.dp AND spans.rank IS NOT DISTINCT FROM activities.rank
    CROSS JOIN origin
    CROSS JOIN LATERAL (SELECT start_ns + offset_ns - origin_ns AS at_ns)
    WHERE run = $run AND ($rank IS NULL OR activities.rank = $rank)
        AND start_ns < (SELECT latest_ns FROM origin)
        AND start_ns + dur_ns > (SELECT earliest_ns FROM origin)
        AND at_ns < to_ns AND at_ns + dur_ns > $from_ns
),

ranked AS (
    SELECT
        *,
        count(*) OVER () AS n_window,
        row_number() OVER (ORDER BY dur_ns DESC, rank, activity_id) <= $top AS is_single
    FROM found
),

-- Where a row begins: each single activity, and of the others the first after one, after a gap, of another step.
begun AS (
    SELECT
        *,
        is_single
        OR lag(is_single, 1, true) OVER lane
        OR step IS DISTINCT FROM lag(step) OVER lane
        OR at_ns - max(at_ns + dur_ns) OVER (lane ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            >= (to_ns - $from_ns) / 500
            AS is_first
    FROM ranked
    WINDOW lane AS (PARTITION BY rank, stream ORDER BY at_ns, activity_id)
),

lines AS (
    SELECT *, count(*) FILTER (WHERE is_first) OVER (PARTITION BY rank, stream ORDER BY at_ns, activity_id) AS line
    FROM begun
)

SELECT
    dp,
    rank,
    stream,
    any_value(stream = main_stream) AS is_main,
    count(*) AS n,
    min(at_ns) AS start_ns,
    max(at_ns + dur_ns) - min(at_ns) AS dur_ns,
    sum(dur_ns)::BIGINT AS sum_ns,
    CASE WHEN n = 1 THEN any_value(queued_ns) END AS queued_ns,
    CASE WHEN n = 1 THEN any_value(name) END AS name,
    arg_max(category, dur_ns) AS category,
    CASE WHEN n = 1 THEN any_value(impl) END AS impl,
    arg_max(phase, dur_ns) AS phase,
    CASE WHEN n = 1 THEN any_value(op) END AS op,
    CASE WHEN n = 1 THEN any_value(bytes) END AS bytes,
    any_value(step) AS step,
    any_value(n_window) AS n_window,
    any_value(step_ns) AS step_ns
FROM lines
GROUP BY dp, rank, stream, line
ORDER BY rank, stream, start_ns, line
