-- Waiting and transfer in the time of each collective category: the rows of a breakdown taken apart.
--
-- Answers: how much of AllReduce is waiting for the slowest rank, and which one is that?
-- Grain: one row per (phase, category) with collectives that are matched over all their ranks, and one per category with
--     phase NULL: all phases.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL = decode where the run has such steps,
--     else its commonest kind.
--   $rank INTEGER = NULL: times of this rank; NULL = the mean over ranks.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $step INTEGER = NULL: only this step, even if it is cut.
-- Columns:
--   phase VARCHAR: phase; NULL = all.
--   category VARCHAR: all_reduce, all_gather, ...
--   busy_ns BIGINT: as in breakdown: waiting_ns + transfer_ns + unmatched_ns exactly.
--   waiting_ns BIGINT: mean over steps of what the calls take longer than on the fastest rank.
--   transfer_ns BIGINT: mean over steps of what they take on the fastest rank.
--   unmatched_ns BIGINT: mean over steps of the time of calls that are not matched over all their ranks.
--   waiting_share DOUBLE: waiting_ns / (waiting_ns + transfer_ns).
--   waiting_share_of_step DOUBLE: waiting_ns / mean duration of the step.
--   transfer_share_of_step DOUBLE: transfer_ns / mean duration of the step.
--   unmatched_share_of_step DOUBLE: unmatched_ns / mean duration of the step.
--   last_dp INTEGER: engine of the rank that comes last most often; NULL like it.
--   last_rank INTEGER: rank that comes last most often; NULL where nobody ever waits.
--   last_share DOUBLE: part of the matched calls in which it does.
--   impl VARCHAR: implementation that most of the time goes to; NULL where the rule names none.
--   bytes BIGINT: size of the message that most of the time goes to; NULL where unknown.
--   dtype VARCHAR: element type of it; NULL where unknown.
--   busbw_gb_per_s DOUBLE: median bus bandwidth of those calls, GB = 1e9; NULL without bytes.
--   n_signatures BIGINT: different (impl, bytes) in the row.
-- Limits: where calls of a category run side by side, busy time is less than their durations added up: all three parts are
--     then made smaller in that proportion. Waiting is duration less transfer, which needs no clocks.

WITH chosen AS (
    SELECT dp, rank, step, dur_ns, count(*) OVER (PARTITION BY dp, step) AS n_ranks
    FROM asked_steps($run, $kind, $dp, $rank, $step)
    WHERE is_shown
),

totals AS (
    SELECT count(*) AS n_steps, avg(dur_ns) AS step_ns
    FROM (SELECT avg(dur_ns) AS dur_ns FROM chosen GROUP BY dp, step)
),

calls AS (
    SELECT collective, last_dp, last_rank
    FROM collective_calls
    WHERE run = $run AND is_whole
),

matched AS (
    SELECT collectives.*, last_dp, last_rank
    FROM collectives
    INNER JOIN calls ON calls.collective = collectives.collective
    SEMI JOIN chosen
        ON chosen.dp = collectives.dp
        AND chosen.rank IS NOT DISTINCT FROM collectives.rank
        AND chosen.step = collectives.step
    WHERE run = $run
),

per_rank AS (
    SELECT
        dp, rank, step, phase, category,
        sum(dur_ns - transfer_ns)::BIGINT AS waiting_ns,
        sum(transfer_ns)::BIGINT AS transfer_ns
    FROM matched
    GROUP BY dp, rank, step, phase, category
),

-- A category's busy time is that of the breakdown; its parts are scaled to it.
parts AS (
    SELECT
        step_breakdown.phase,
        step_breakdown.category,
        step_breakdown.busy_ns / n_ranks AS busy_ns,
        coalesce(waiting_ns, 0) * scale / n_ranks AS waiting_ns,
        coalesce(transfer_ns, 0) * scale / n_ranks AS transfer_ns
    FROM step_breakdown
    INNER JOIN chosen
        ON chosen.dp = step_breakdown.dp
        AND chosen.rank IS NOT DISTINCT FROM step_breakdown.rank
        AND chosen.step = step_breakdown.step
    LEFT JOIN per_rank
        ON per_rank.dp = step_breakdown.dp
        AND per_rank.rank IS NOT DISTINCT FROM step_breakdown.rank
        AND per_rank.step = step_breakdown.step
        AND per_rank.phase = step_breakdown.phase
        AND per_rank.category = step_breakdown.category
    CROSS JOIN LATERAL (
        SELECT step_breakdown.busy_ns / greatest(step_breakdown.sum_ns, waiting_ns + transfer_ns, 1) AS scale
    )
    WHERE step_breakdown.run = $run
),

means AS (
    SELECT
        phase,
        category,
        round(sum(busy_ns) / n_steps)::BIGINT AS busy_ns,
        round(sum(waiting_ns) / n_steps)::BIGINT AS waiting_ns,
        round(sum(busy_ns - waiting_ns - transfer_ns) / n_steps)::BIGINT AS unmatched_ns
    FROM parts
    CROSS JOIN totals
    GROUP BY GROUPING SETS ((phase, category, n_steps), (category, n_steps))
),

signatures AS (
    SELECT
        phase, category, impl, bytes,
        sum(dur_ns) AS sum_ns,
        mode(dtype) AS dtype,
        median(busbw_gb_per_s) AS busbw_gb_per_s
    FROM matched
    GROUP BY GROUPING SETS ((phase, category, impl, bytes), (category, impl, bytes))
),

main AS (
    SELECT
        phase, category,
        arg_max({'impl': impl, 'bytes': bytes, 'dtype': dtype, 'busbw': busbw_gb_per_s}, sum_ns) AS signature,
        count(*) AS n_signatures
    FROM signatures
    GROUP BY phase, category
),

last_ranks AS (
    SELECT phase, category, last_dp, last_rank, count(DISTINCT collective) AS n
    FROM matched
    GROUP BY GROUPING SETS ((phase, category, last_dp, last_rank), (category, last_dp, last_rank))
),

last AS (
    SELECT
        phase, category,
        arg_max({'dp': last_dp, 'rank': last_rank}, (n, -last_dp, -last_rank)) FILTER (WHERE last_dp IS NOT NULL) AS last,
        max(n) FILTER (WHERE last_dp IS NOT NULL) / sum(n) AS last_share
    FROM last_ranks
    GROUP BY phase, category
)

SELECT
    means.phase,
    means.category,
    busy_ns,
    waiting_ns,
    busy_ns - waiting_ns - unmatched_ns AS transfer_ns,
    unmatched_ns,
    waiting_ns / nullif(busy_ns - unmatched_ns, 0) AS waiting_share,
    waiting_ns / step_ns AS waiting_share_of_step,
    (busy_ns - waiting_ns - unmatched_ns) / step_ns AS transfer_share_of_step,
    unmatched_ns / step_ns AS unmatched_share_of_step,
    last.last.dp AS last_dp,
    last.last.rank AS last_rank,
    last_share,
    signature.impl,
    signature.bytes,
    signature.dtype,
    signature.busbw AS busbw_gb_per_s,
    n_signatures
FROM means
CROSS JOIN totals
INNER JOIN main ON main.phase IS NOT DISTINCT FROM means.phase AND main.category = means.category
INNER JOIN last ON last.phase IS NOT DISTINCT FROM means.phase AND last.category = means.category
ORDER BY busy_ns DESC, means.phase NULLS FIRST, means.category
