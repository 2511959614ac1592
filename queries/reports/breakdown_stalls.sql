-- Stalls of the host: the device did nothing for most of a step, or for long before its work began.
--
-- Answers: is a long step slow work, or a host that did nothing for a while?
-- Grain: one row per (dp, step) with a stall, longest first.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL as in breakdown.
--   $rank INTEGER = NULL: as in breakdown.
--   $dp INTEGER = NULL: as in breakdown.
--   $step INTEGER = NULL: as in breakdown.
-- Columns:
--   dp INTEGER: data-parallel engine.
--   step INTEGER: step.
--   stall_ns BIGINT: its longest gap on the device, on the rank where it is longest.
--   is_in_step BOOLEAN: true where the gap is in the step's window, false where it lies before it.
--   dur_ns BIGINT: duration of the step's window on that rank.
--   rest_ns BIGINT: what dur_ns is without the stall.
--   rank INTEGER: that rank; NULL where unknown.
--   n_ranks BIGINT: ranks with a stall in the step.
--   host_call VARCHAR: the runtime call the host sat in for most of the gap; NULL where there is none.
--   host_call_ns BIGINT: time of the gap it was in that call; NULL like it.
-- Limits: a gap counts from half of the step and 1 ms on, if nothing was queued (the next activity was launched after
--     the gap began) or the host sat in one call for half of it. Needs launch calls in the trace.

WITH chosen AS (
    SELECT
        dp, rank, step, start_ns, dur_ns, starved_ns, coalesce(wait_for_work_ns, 0) AS wait_ns,
        greatest(dur_ns / 2, 1_000_000) AS long_ns,
        first_step_ns
    FROM asked_steps($run, $kind, $dp, $rank, $step)
    WHERE is_shown
),

-- Before the first window of a rank lies what its first step did ahead of its first kernel.
spans AS (
    SELECT
        chosen.*,
        CASE WHEN start_ns = first_step_ns THEN least(start_ns, first_ns) ELSE start_ns END AS begin_ns
    FROM chosen
    LEFT JOIN (
        SELECT dp, rank, step, min(start_ns) AS first_ns
        FROM activity
        WHERE run = $run
        GROUP BY dp, rank, step
    ) AS firsts
        ON firsts.dp = chosen.dp AND firsts.rank IS NOT DISTINCT FROM chosen.rank AND firsts.step = chosen.step
),

suspects AS (
    SELECT *
    FROM spans
    WHERE starved_ns >= long_ns OR start_ns - begin_ns >= long_ns
),

-- The next step's first kernel is in: a stall often ends a step.
gaps AS (
    SELECT
        suspects.*,
        activity.file_id,
        activity.launch_ns,
        activity.start_ns AS end_ns,
        max(activity.start_ns + activity.dur_ns) OVER (
            PARTITION BY suspects.dp, suspects.rank, suspects.step
            ORDER BY activity.start_ns, activity.activity_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS gap_ns
    FROM suspects
    INNER JOIN activity
        ON activity.dp = suspects.dp
        AND activity.rank IS NOT DISTINCT FROM suspects.rank
        AND activity.start_ns BETWEEN suspects.begin_ns AND suspects.start_ns + suspects.dur_ns
    WHERE activity.run = $run
    -- A gap that ends the window may be one without requests: that part is no stall.
    QUALIFY activity.start_ns - gap_ns
        - CASE WHEN activity.start_ns >= suspects.start_ns + suspects.dur_ns THEN wait_ns ELSE 0 END >= long_ns
),

calls AS (
    SELECT
        gaps.dp, gaps.rank, gaps.step, gaps.gap_ns,
        max_by(name, least(end_ns, host_call.start_ns + host_call.dur_ns) - greatest(gap_ns, host_call.start_ns))
            AS host_call,
        max(least(end_ns, host_call.start_ns + host_call.dur_ns) - greatest(gap_ns, host_call.start_ns))
            AS host_call_ns
    FROM gaps
    INNER JOIN host_call
        ON host_call.file_id = gaps.file_id
        AND host_call.start_ns < gaps.end_ns
        AND host_call.start_ns + host_call.dur_ns > gaps.gap_ns
    WHERE host_call.run = $run
    GROUP BY ALL
),

stalls AS (
    SELECT gaps.*, end_ns - gaps.gap_ns AS stall_ns, host_call, host_call_ns
    FROM gaps
    LEFT JOIN calls
        ON calls.dp = gaps.dp
        AND calls.rank IS NOT DISTINCT FROM gaps.rank
        AND calls.step = gaps.step
        AND calls.gap_ns = gaps.gap_ns
    WHERE launch_ns > gaps.gap_ns OR host_call_ns >= (end_ns - gaps.gap_ns) / 2
)

SELECT
    dp,
    step,
    stall_ns,
    gap_ns >= start_ns AS is_in_step,
    dur_ns,
    CASE WHEN is_in_step THEN dur_ns - stall_ns ELSE dur_ns END AS rest_ns,
    rank,
    count(DISTINCT coalesce(rank, -1)) OVER (PARTITION BY dp, step) AS n_ranks,
    CASE WHEN host_call_ns >= stall_ns / 2 THEN host_call END AS host_call,
    CASE WHEN host_call_ns >= stall_ns / 2 THEN host_call_ns END AS host_call_ns
FROM stalls
QUALIFY row_number() OVER (PARTITION BY dp, step ORDER BY stall_ns DESC, rank, gap_ns) = 1
ORDER BY stall_ns DESC, dp, step
