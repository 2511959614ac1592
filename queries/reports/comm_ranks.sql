-- Who waits for whom: how often each rank comes last, what that costs the others, and why it is late.
--
-- Answers: which rank is the straggler, since which step, and is its host or its device late?
-- Grain: one row per (dp, rank) with matched collectives, the one that costs the others most first.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL as in comms.
--   $phase VARCHAR = NULL: one of prepare, forward, verify, sample, draft, other; NULL = all.
--   $category VARCHAR = NULL: only this category; NULL = all.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
-- Columns:
--   dp INTEGER: data-parallel engine.
--   rank INTEGER: rank; NULL where unknown.
--   n_calls BIGINT: matched calls it took part in.
--   n_last BIGINT: of them, those it came last in.
--   last_share DOUBLE: n_last / n_calls.
--   lateness_ns DOUBLE: mean time from the arrival of the first rank to its own.
--   wait_ns DOUBLE: mean time it waits for the last rank, by the clocks.
--   waiting_ns DOUBLE: mean of what its calls take longer than the shortest of their ranks: waiting without clocks.
--   others_wait_ns DOUBLE: mean time the others wait where it comes last; NULL where it never does.
--   cost_ns DOUBLE: the same per step: what the others wait for it in all its last calls.
--   cost_share DOUBLE: cost_ns / that of all ranks; NULL where it never comes last.
--   host_share DOUBLE: part of cost_ns in calls where it comes last for its host was late (collective_calls.delay).
--   device_share DOUBLE: likewise, for it worked longer; what is left of 1 nothing explains. NULL where nothing tells.
--   late_launch_ns DOUBLE: median over its last calls of how much later than the others' it was launched.
--   late_starved_ns DOUBLE: median likewise of how much longer nothing was queued on it.
--   late_work_ns DOUBLE: median likewise of how much longer it worked since the collective before.
--   n_steps BIGINT: steps with matched calls of it.
--   n_habit_steps BIGINT: of them, those in which half of what ranks waited, or more, was for it.
--   first_habit_step INTEGER: first such step; NULL where there is none.
--   last_habit_step INTEGER: last such step; NULL likewise.
--   offset_ns BIGINT: what was added to its times, the median where its clock drifts; 0 where it needs no correction.
--   clock_spread_ns BIGINT: how far ends of collectives lie from the offset found; NULL where none was sought.
--   n_early BIGINT: collectives it ended before another rank began, with corrected times: impossible on one clock.
-- Limits: matched calls of measured steps (steps.is_measured) only; ranks without a trace may come later still.

WITH ranks AS (
    SELECT *
    FROM chosen_collectives($run, $kind, $dp, $phase, $category)
    WHERE transfer_ns IS NOT NULL
),

calls AS (
    SELECT *
    FROM chosen_calls($run, $kind, $dp, $phase, $category)
    WHERE transfer_ns IS NOT NULL
),

step_costs AS (
    SELECT
        last_dp, last_rank, step,
        sum(others_wait_ns) / nullif(sum(sum(others_wait_ns)) OVER (PARTITION BY dp, step), 0) AS share
    FROM calls
    GROUP BY dp, step, last_dp, last_rank
),

habits AS (
    SELECT
        last_dp AS dp,
        last_rank AS rank,
        count(*) AS n_habit_steps,
        min(step) AS first_habit_step,
        max(step) AS last_habit_step
    FROM step_costs
    WHERE is_most(share, 1)
    GROUP BY last_dp, last_rank
),

own AS (
    SELECT
        ranks.dp, ranks.rank,
        count(*) AS n_calls,
        count(DISTINCT ranks.step) AS n_steps,
        avg(arrival_spread_ns - ranks.wait_ns) AS lateness_ns,
        avg(ranks.wait_ns) AS wait_ns,
        avg(ranks.dur_ns - ranks.transfer_ns) AS waiting_ns,
        round(median(offset_ns))::BIGINT AS offset_ns
    FROM ranks
    INNER JOIN calls ON calls.collective = ranks.collective
    GROUP BY ranks.dp, ranks.rank
),

as_last AS (
    SELECT
        last_dp AS dp,
        last_rank AS rank,
        count(*) AS n_last,
        avg(others_wait_ns) AS others_wait_ns,
        sum(others_wait_ns) AS cost_ns,
        delay_share('host', delay, others_wait_ns, late_starved_ns) AS host_share,
        delay_share('device', delay, others_wait_ns, late_starved_ns) AS device_share,
        median(late_launch_ns) AS late_launch_ns,
        median(late_starved_ns) AS late_starved_ns,
        median(late_work_ns) AS late_work_ns
    FROM calls
    GROUP BY last_dp, last_rank
)

SELECT
    own.dp,
    own.rank,
    n_calls,
    coalesce(n_last, 0) AS n_last,
    coalesce(n_last, 0) / n_calls AS last_share,
    lateness_ns,
    wait_ns,
    waiting_ns,
    others_wait_ns,
    cost_ns / n_steps AS cost_ns,
    cost_ns / nullif(sum(cost_ns) OVER (), 0) AS cost_share,
    host_share,
    device_share,
    late_launch_ns,
    late_starved_ns,
    late_work_ns,
    n_steps,
    coalesce(n_habit_steps, 0) AS n_habit_steps,
    first_habit_step,
    last_habit_step,
    own.offset_ns,
    spread_ns AS clock_spread_ns,
    n_early_after::BIGINT AS n_early
FROM own
LEFT JOIN habits ON habits.dp = own.dp AND habits.rank IS NOT DISTINCT FROM own.rank
LEFT JOIN as_last ON as_last.dp = own.dp AND as_last.rank IS NOT DISTINCT FROM own.rank
LEFT JOIN clock_offset
    ON clock_offset.run = $run AND clock_offset.dp = own.dp AND clock_offset.rank IS NOT DISTINCT FROM own.rank
ORDER BY as_last.cost_ns DESC NULLS LAST, own.dp, own.rank
