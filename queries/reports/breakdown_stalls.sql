-- Steps in which the host stalled: one gap, with nothing queued on the device, is most of the step.
--
-- Answers: is a long step slow work, or a host that did nothing for a while?
-- Grain: one row per (dp, step) with a stall, longest first.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: as in breakdown.
--   $rank INTEGER = NULL: as in breakdown.
--   $step INTEGER = NULL: as in breakdown.
-- Columns:
--   dp INTEGER: data-parallel engine.
--   step INTEGER: step.
--   dur_ns BIGINT: duration of the step on the rank with the longest stall.
--   stall_ns BIGINT: its longest gap on the device that began before the next activity was launched.
--   rest_ns BIGINT: duration of the step less the stall.
--   rank INTEGER: the rank; NULL where unknown.
--   n_ranks BIGINT: ranks that stall in the step.
--   before VARCHAR: name of the activity that ended the gap.
-- Limits: a gap counts from half of the step and 1 ms; needs launch calls in the trace.

WITH suspects AS (
    SELECT dp, rank, step, start_ns, dur_ns
    FROM steps
    WHERE run = $run
        AND ($rank IS NULL OR rank = $rank)
        AND CASE
            WHEN $step IS NULL
                THEN is_measured AND kind = coalesce($kind, (SELECT main_kind FROM runs WHERE run = $run))
            ELSE step = $step AND dur_ns IS NOT NULL
        END
        AND starved_ns >= greatest(dur_ns / 2, 1_000_000)
),

-- The next step's first kernel is in: a stall often ends a step.
gaps AS (
    SELECT
        suspects.dp,
        suspects.rank,
        suspects.step,
        suspects.dur_ns,
        activity.name AS before,
        activity.launch_ns,
        activity.start_ns,
        max(activity.start_ns + activity.dur_ns) OVER (
            PARTITION BY suspects.dp, suspects.rank, suspects.step
            ORDER BY activity.start_ns, activity.activity_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS end_ns
    FROM suspects
    INNER JOIN activity
        ON activity.dp = suspects.dp
        AND activity.rank IS NOT DISTINCT FROM suspects.rank
        AND activity.start_ns BETWEEN suspects.start_ns AND suspects.start_ns + suspects.dur_ns
    WHERE activity.run = $run
),

stalls AS (
    SELECT dp, rank, step, dur_ns, before, start_ns - end_ns AS stall_ns
    FROM gaps
    WHERE launch_ns > end_ns AND start_ns - end_ns >= greatest(dur_ns / 2, 1_000_000)
)

SELECT
    dp,
    step,
    first(dur_ns ORDER BY stall_ns DESC) AS dur_ns,
    max(stall_ns) AS stall_ns,
    first(dur_ns - stall_ns ORDER BY stall_ns DESC) AS rest_ns,
    first(rank ORDER BY stall_ns DESC) AS rank,
    count(DISTINCT coalesce(rank, -1)) AS n_ranks,
    first(before ORDER BY stall_ns DESC) AS before
FROM stalls
GROUP BY dp, step
ORDER BY stall_ns DESC, dp, step
