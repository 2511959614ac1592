-- Waiting in collectives by rank and step; of many steps, in groups of neighbours.
--
-- Answers: when does which rank wait, and for whom do the others wait?
-- Grain: one row per (dp, rank, group of steps) with matched collectives.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL as in comms.
--   $phase VARCHAR = NULL: one of prepare, forward, verify, sample, draft, other; NULL = all.
--   $category VARCHAR = NULL: only this category; NULL = all.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $bins INTEGER = 120: groups at most; where there are as few steps, each is one of its own.
-- Columns:
--   dp INTEGER: data-parallel engine.
--   rank INTEGER: rank; NULL where unknown.
--   first_step INTEGER: first step of the group.
--   last_step INTEGER: last step of it.
--   n_steps BIGINT: steps of it in which the rank has matched collectives.
--   n_calls BIGINT: these collectives.
--   n_last BIGINT: of them, those it came last in.
--   waiting_ns DOUBLE: mean per step of what they take longer than on the fastest rank: without clocks.
--   wait_ns DOUBLE: mean per step of the time until the last rank had come, by the clocks; NULL where unknown.
--   cost_ns DOUBLE: mean per step of what the others wait for it, where it came last.
-- Limits: matched calls of measured steps (steps.is_measured) only.

WITH ranks AS (
    SELECT dp, rank, step, collective, dur_ns - transfer_ns AS waiting_ns, wait_ns
    FROM chosen_collectives($run, $kind, $dp, $phase, $category)
    WHERE transfer_ns IS NOT NULL
),

calls AS (
    SELECT collective, last_dp, last_rank, others_wait_ns
    FROM collective_calls
    WHERE run = $run AND last_dp IS NOT NULL
),

places AS (
    SELECT step, row_number() OVER (ORDER BY step) - 1 AS place
    FROM (SELECT DISTINCT step FROM ranks)
),

bins AS (
    SELECT
        step, bin,
        min(step) OVER (PARTITION BY bin) AS first_step,
        max(step) OVER (PARTITION BY bin) AS last_step
    FROM (SELECT step, place // ceil((SELECT count(*) FROM places) / $bins)::BIGINT AS bin FROM places)
)

SELECT
    dp,
    rank,
    first_step,
    last_step,
    count(DISTINCT ranks.step) AS n_steps,
    count(*) AS n_calls,
    count(calls.collective) AS n_last,
    sum(waiting_ns) / n_steps AS waiting_ns,
    sum(wait_ns) / n_steps AS wait_ns,
    coalesce(sum(others_wait_ns), 0) / n_steps AS cost_ns
FROM ranks
INNER JOIN bins ON bins.step = ranks.step
LEFT JOIN calls
    ON calls.collective = ranks.collective
    AND calls.last_dp = ranks.dp
    AND calls.last_rank IS NOT DISTINCT FROM ranks.rank
GROUP BY dp, rank, first_step, last_step
ORDER BY dp, rank, first_step
