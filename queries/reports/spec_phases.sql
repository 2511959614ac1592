-- Phases of the steps that draft and verify, per step and per emitted token.
--
-- Answers: what do drafting, verifying and rejecting cost?
-- Grain: one row per phase, most time first, then overlap, wait_for_work, idle and step, which they add up to; then host,
--     the time of drafting where only the host does it.
-- Params:
--   $run VARCHAR: run to read.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $rank INTEGER = NULL: only this rank; NULL = the mean over ranks.
-- Columns:
--   row_kind VARCHAR: phase, overlap, wait_for_work, idle, step or host (in no sum).
--   phase VARCHAR: phase; NULL in closing rows.
--   busy_ns BIGINT: mean over steps of the union of its intervals; of host, of the time of its scopes on the host.
--   share_of_step DOUBLE: busy_ns / mean duration of the step; NULL of host, which may run beside the device.
--   ns_per_token DOUBLE: busy_ns / tokens emitted per request and step; NULL where nothing tells. No token waits for
--     work: of wait_for_work it is NULL, and not in that of step; of host NULL.
--   all_reduce_ns BIGINT: mean AllReduce time in it (union).
--   all_reduce_calls DOUBLE: mean AllReduce activities per rank and step.
--   p10_ns BIGINT: 10th percentile of busy_ns over steps; NULL with a single step and for overlap.
--   p90_ns BIGINT: 90th percentile, likewise.
--   phase_sources VARCHAR: what decided the phase; NULL in closing rows.
-- Limits: all measured decode steps (steps.is_measured), also those without a draft to check. Host drafters (n-gram)
--     draft on the host: host has that time, which is idle time of the device. The unit is the step, ranks reduced first by the mean.

WITH chosen AS (
    SELECT *, count(*) OVER (PARTITION BY dp, step) AS n_ranks
    FROM steps
    WHERE run = $run AND is_measured AND kind = 'decode'
        AND ($dp IS NULL OR dp = $dp) AND ($rank IS NULL OR rank = $rank)
),

units AS (
    SELECT
        dp,
        step,
        avg(dur_ns) AS dur_ns,
        avg(busy_ns) AS busy_ns,
        avg(coalesce(wait_for_work_ns, 0)) AS wait_ns,
        avg(idle_ns) AS idle_ns,
        max(expected_tokens) AS n_expected,
        coalesce(nullif(max(n_decode_reqs), 0), 1) AS n_streams
    FROM chosen
    GROUP BY dp, step
),

totals AS (
    SELECT
        count(*) AS n_steps,
        round(avg(dur_ns))::BIGINT AS step_ns,
        round(avg(busy_ns))::BIGINT AS step_busy_ns,
        round(avg(wait_ns))::BIGINT AS wait_ns,
        quantile_cont(dur_ns, [0.1, 0.9]) AS step_spread,
        quantile_cont(wait_ns, [0.1, 0.9]) AS wait_spread,
        quantile_cont(idle_ns, [0.1, 0.9]) AS idle_spread,
        CASE WHEN count(n_expected) = count(*) THEN sum(n_expected) / sum(n_streams) END AS tokens_per_step
    FROM units
),

all_reduce AS (
    SELECT
        phase::VARCHAR AS phase,
        round(sum(step_category.busy_ns / n_ranks) / any_value(n_steps))::BIGINT AS all_reduce_ns,
        sum(n / n_ranks) / any_value(n_steps) AS all_reduce_calls
    FROM step_category
    INNER JOIN chosen
        ON chosen.dp = step_category.dp
        AND chosen.rank IS NOT DISTINCT FROM step_category.rank
        AND chosen.step = step_category.step
    CROSS JOIN totals
    WHERE step_category.run = $run AND category = 'all_reduce'
    GROUP BY phase
),

per_step AS (
    SELECT
        phase::VARCHAR AS phase,
        sum(step_phase.busy_ns / n_ranks) AS busy_ns,
        list(DISTINCT phase_source::VARCHAR) AS sources
    FROM step_phase
    INNER JOIN chosen
        ON chosen.dp = step_phase.dp
        AND chosen.rank IS NOT DISTINCT FROM step_phase.rank
        AND chosen.step = step_phase.step
    WHERE step_phase.run = $run AND n > 0
    GROUP BY step_phase.dp, step_phase.step, phase
),

-- Padding with zeros makes the steps that lack the phase count.
phases AS (
    SELECT
        'phase' AS row_kind,
        phase,
        round(sum(busy_ns) / n_steps)::BIGINT AS busy_ns,
        list_aggregate(list_resize(list(busy_ns), n_steps, 0), 'quantile_cont', [0.1, 0.9]) AS spread,
        array_to_string(list_sort(list_distinct(flatten(list(sources)))), ', ') AS phase_sources
    FROM per_step
    CROSS JOIN totals
    GROUP BY phase, n_steps
),

closing AS (
    SELECT unnest([
        {'row_kind': 'overlap', 'busy_ns': step_busy_ns - coalesce((SELECT sum(busy_ns)::BIGINT FROM phases), 0),
         'spread': NULL},
        {'row_kind': 'wait_for_work', 'busy_ns': wait_ns, 'spread': wait_spread},
        {'row_kind': 'idle', 'busy_ns': step_ns - step_busy_ns - wait_ns, 'spread': idle_spread},
        {'row_kind': 'step', 'busy_ns': step_ns, 'spread': step_spread}
    ], recursive := true)
    FROM totals
    WHERE n_steps > 0
),

host_steps AS (
    SELECT step_phase.dp, step_phase.step, sum(step_phase.host_dur_ns / n_ranks) AS host_ns, sum(n) AS n
    FROM step_phase
    INNER JOIN chosen
        ON chosen.dp = step_phase.dp
        AND chosen.rank IS NOT DISTINCT FROM step_phase.rank
        AND chosen.step = step_phase.step
    WHERE step_phase.run = $run AND phase = 'draft'
    GROUP BY step_phase.dp, step_phase.step
),

host AS (
    SELECT
        'host' AS row_kind,
        'draft' AS phase,
        round(sum(host_ns) / any_value(n_steps))::BIGINT AS busy_ns,
        list_aggregate(list_resize(list(host_ns), any_value(n_steps), 0), 'quantile_cont', [0.1, 0.9]) AS spread
    FROM host_steps
    CROSS JOIN totals
    HAVING sum(n) = 0 AND sum(host_ns) > 0
)

SELECT
    row_kind,
    phase,
    busy_ns,
    CASE WHEN row_kind <> 'host' THEN busy_ns / nullif(step_ns, 0) END AS share_of_step,
    CASE
        WHEN row_kind IN ('wait_for_work', 'host') THEN NULL
        WHEN row_kind = 'step' THEN step_ns - wait_ns
        ELSE busy_ns
    END / tokens_per_step AS ns_per_token,
    if(row_kind = 'step', (SELECT sum(all_reduce_ns) FROM all_reduce), all_reduce_ns)::BIGINT AS all_reduce_ns,
    if(row_kind = 'step', (SELECT sum(all_reduce_calls) FROM all_reduce), all_reduce_calls) AS all_reduce_calls,
    CASE WHEN n_steps > 1 THEN round(spread[1])::BIGINT END AS p10_ns,
    CASE WHEN n_steps > 1 THEN round(spread[2])::BIGINT END AS p90_ns,
    phase_sources
FROM (FROM phases UNION ALL BY NAME FROM closing UNION ALL BY NAME FROM host)
LEFT JOIN all_reduce USING (phase)
CROSS JOIN totals
WHERE row_kind <> 'wait_for_work' OR wait_ns > 0
ORDER BY list_position(['phase', 'overlap', 'wait_for_work', 'idle', 'step', 'host'], row_kind), busy_ns DESC, phase
