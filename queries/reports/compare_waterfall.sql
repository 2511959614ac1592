-- From the time of a token in one run to that in another: what each part of the step adds or saves.
--
-- Answers: why is the other run faster or slower for each emitted token?
-- Grain: one row per bar: base, tokens, then the parts of a step, most change first, overlap and idle, then other.
-- Params:
--   $base VARCHAR[]: run to compare with, or several: repeats of one setting.
--   $other VARCHAR[]: run that is compared, or several.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL = the main kind of the base.
--   $batch INTEGER = NULL: only this batch size; NULL = that with most steps in common.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $fold DOUBLE = 0.0: parts that change less than this share of the base become one row; GEMM, MoE GEMM, attention,
--     AllReduce, draft and sample never do.
-- Columns:
--   row_kind VARCHAR: base and other (whole times), between them tokens, part, overlap and idle.
--   phase VARCHAR: verify or forward (of the target's pass: verify where one of the runs checks drafts in it), draft,
--     sample, prepare or other; NULL in rows that are no part.
--   category VARCHAR: category of the target's pass; NULL for other phases, which are one row each.
--   part VARCHAR: waiting, transfer or unmatched of a collective; NULL of the rest.
--   n_folded BIGINT: parts folded into this row; NULL in others.
--   base_step_ns DOUBLE: mean time in a step of the base; of tokens, of the whole step.
--   other_step_ns DOUBLE: mean time in a step of the other, likewise.
--   change_ns BIGINT: what it adds to the time of a token; of base and other, the whole.
--   from_ns BIGINT: time of a token before it: where its bar begins.
--   to_ns BIGINT: time of a token after it: from_ns + change_ns.
--   base_all_reduce_ns DOUBLE: of drafting, its AllReduce in a step of the base; NULL of the rest.
--   other_all_reduce_ns DOUBLE: likewise of the other.
--   experts BIGINT: of MoE GEMM, routed experts of a layer by config.json; NULL of the rest and where it does not tell.
--   base_experts DOUBLE: of them, those that the tokens of a step touch in the base, each choosing evenly; NULL like it.
--   other_experts DOUBLE: likewise in the other.
--   base_impl VARCHAR: implementation that most time of the collective goes to; NULL of the rest.
--   other_impl VARCHAR: likewise.
--   base_bytes BIGINT: message that most time of the collective goes to; NULL where unknown.
--   other_bytes BIGINT: likewise.
-- Limits: changes add up to the difference exactly. tokens is what the base would save if its own step gave the other's
--     tokens; the rest is per token of the other. Without tokens on a side all is per step. Parts are busy time of what
--     a step launched, unclipped: overlap closes them to the step. Waiting for work is left out. All are stretched alike to
--     the speed without the profiler, as in compare_headline.

WITH units AS (
    SELECT *, if(bool_or(is_verify) OVER (), 'verify', 'forward') AS pass
    FROM matched_steps($base, $other, $kind, $dp, $batch)
),

totals AS (
    SELECT
        is_base,
        avg(work_ns) AS step_ns,
        avg(idle_ns) AS idle_ns,
        if(any_value(has_tokens), sum(expected_tokens / n_streams) / count(*), 1) AS tokens
    FROM units
    GROUP BY is_base
),

calls AS (
    SELECT run, collective
    FROM collective_calls
    WHERE is_whole AND (list_contains($base, run) OR list_contains($other, run))
),

of_target AS (
    SELECT
        is_base, collectives.run, collectives.dp, rank, collectives.step, phase, category, impl, bytes,
        collectives.dur_ns, transfer_ns, calls.collective IS NOT NULL AS is_whole
    FROM collectives
    INNER JOIN units
        ON units.run = collectives.run AND units.dp = collectives.dp AND units.step = collectives.step
    LEFT JOIN calls ON calls.run = collectives.run AND calls.collective = collectives.collective
    WHERE phase IN ('forward', 'verify') AND (list_contains($base, collectives.run) OR list_contains($other, collectives.run))
),

matched AS (
    SELECT
        run, dp, rank, step, phase, category,
        sum(dur_ns - transfer_ns)::BIGINT AS waiting_ns,
        sum(transfer_ns)::BIGINT AS transfer_ns
    FROM of_target
    WHERE is_whole
    GROUP BY run, dp, rank, step, phase, category
),

signatures AS (
    SELECT is_base, category, arg_max({'impl': impl, 'bytes': bytes}, sum_ns) AS signature
    FROM (SELECT is_base, category, impl, bytes, sum(dur_ns) AS sum_ns FROM of_target GROUP BY ALL)
    GROUP BY is_base, category
),

-- Causes of a longer pass and of longer drafting: experts to read, and all-reduces.
causes AS (
    SELECT
        is_base,
        any_value(experts)::BIGINT AS experts,
        CASE
            WHEN count(n_decode_tokens) = count(*) THEN avg(experts_touched(experts, active_experts, n_decode_tokens))
        END AS touched
    FROM units
    LEFT JOIN model_configs(list_concat($base, $other)) AS config ON config.run = units.run AND active_experts <= experts
    GROUP BY is_base
),

draft_calls AS (
    SELECT is_base, sum(work.busy_ns * factor / n_ranks) / any_value(units.n) AS ns
    FROM step_breakdown AS work
    INNER JOIN units USING (run, dp, step, kind)
    WHERE phase = 'draft' AND category = 'all_reduce'
    GROUP BY is_base
),

-- A category's busy time is that of the breakdown; what is known of its calls is scaled to it.
target AS (
    SELECT
        is_base, work.category,
        sum(work.busy_ns * factor / n_ranks) / any_value(units.n) AS busy_ns,
        coalesce(sum(waiting_ns * scale * factor / n_ranks), 0) / any_value(units.n) AS waiting_ns,
        coalesce(sum(transfer_ns * scale * factor / n_ranks), 0) / any_value(units.n) AS transfer_ns
    FROM step_breakdown AS work
    INNER JOIN units
        ON units.run = work.run AND units.dp = work.dp AND units.step = work.step AND units.kind = work.kind
    LEFT JOIN matched
        ON matched.run = work.run AND matched.dp = work.dp AND matched.rank IS NOT DISTINCT FROM work.rank
        AND matched.step = work.step AND matched.phase = work.phase AND matched.category = work.category
    CROSS JOIN LATERAL (SELECT work.busy_ns / greatest(sum_ns, waiting_ns + transfer_ns, 1) AS scale)
    WHERE work.phase IN ('forward', 'verify')
    GROUP BY is_base, work.category
),

pieces AS (
    SELECT
        is_base, 'target' AS phase, category,
        unnest(if(
            count(*) FILTER (WHERE transfer_ns > 0) OVER (PARTITION BY category) = 2,
            [
                {'part': 'waiting', 'ns': waiting_ns},
                {'part': 'transfer', 'ns': transfer_ns},
                {'part': 'unmatched', 'ns': busy_ns - waiting_ns - transfer_ns}
            ],
            [{'part': NULL, 'ns': busy_ns}]
        ), recursive := true)
    FROM target
    UNION ALL
    SELECT is_base, phase, NULL, NULL, sum(step_phases.busy_ns * factor / n_ranks) / any_value(units.n)
    FROM step_phases
    INNER JOIN units USING (run, dp, step, kind)
    WHERE phase NOT IN ('forward', 'verify') AND step_phases.n > 0
    GROUP BY is_base, phase
),

closed AS (
    SELECT 1 AS place, 'part' AS row_kind, is_base, phase, category, part, ns
    FROM pieces
    UNION ALL
    SELECT
        3, 'overlap', is_base, NULL, NULL, NULL,
        step_ns - idle_ns - coalesce((SELECT sum(ns) FROM pieces WHERE pieces.is_base = totals.is_base), 0)
    FROM totals
    UNION ALL
    SELECT 4, 'idle', is_base, NULL, NULL, NULL, idle_ns
    FROM totals
),

sides AS (
    SELECT base.step_ns AS base_ns, base.tokens AS base_tokens, other.step_ns AS other_ns, other.tokens AS other_tokens
    FROM totals AS base
    INNER JOIN totals AS other ON base.is_base AND NOT other.is_base
),

paired AS (
    SELECT
        place, row_kind, phase, category, part,
        coalesce(sum(ns) FILTER (WHERE is_base), 0) AS base_step_ns,
        coalesce(sum(ns) FILTER (WHERE NOT is_base), 0) AS other_step_ns,
        (other_step_ns - base_step_ns) / any_value(other_tokens) AS change,
        row_kind = 'part'
            AND coalesce(category, phase) NOT IN ('gemm', 'moe_gemm', 'attention', 'all_reduce', 'draft', 'sample')
            AND abs(change) < $fold * any_value(base_ns / base_tokens) AS is_small
    FROM closed
    CROSS JOIN sides
    GROUP BY place, row_kind, phase, category, part
    HAVING row_kind <> 'part' OR base_step_ns + other_step_ns > 0.5
),

bars AS (
    SELECT
        place, row_kind, phase, category, part, NULL AS n_folded, base_step_ns, other_step_ns, change
    FROM paired
    WHERE NOT is_small
    UNION ALL BY NAME
    SELECT
        2 AS place, 'part' AS row_kind, count(*) AS n_folded, sum(base_step_ns) AS base_step_ns,
        sum(other_step_ns) AS other_step_ns, sum(change) AS change
    FROM paired
    WHERE is_small
    HAVING count(*) > 0
    UNION ALL BY NAME
    SELECT
        0 AS place, 'tokens' AS row_kind, base_ns AS base_step_ns, base_ns AS other_step_ns,
        base_ns / other_tokens - base_ns / base_tokens AS change
    FROM sides
    WHERE other_tokens <> base_tokens
),

bars_and_ends AS (
    FROM bars
    UNION ALL BY NAME
    SELECT -1 AS place, 'base' AS row_kind, base_ns AS base_step_ns, base_ns / base_tokens AS change
    FROM sides
    UNION ALL BY NAME
    SELECT 5 AS place, 'other' AS row_kind, other_ns AS other_step_ns, NULL AS change
    FROM sides
),

-- Rounded where bars meet, so that they add up.
levels AS (
    SELECT
        *,
        row_number() OVER line AS line,
        round(sum(change) OVER line)::BIGINT AS to_ns
    FROM bars_and_ends
    WINDOW line AS (ORDER BY place, abs(change) DESC, phase, category, part)
)

SELECT
    row_kind,
    if(phase = 'target', (SELECT any_value(pass) FROM units), phase) AS phase,
    category,
    part,
    n_folded,
    base_step_ns,
    other_step_ns,
    CASE row_kind WHEN 'base' THEN to_ns WHEN 'other' THEN to_ns ELSE to_ns - lag(to_ns) OVER (ORDER BY line) END AS change_ns,
    to_ns - change_ns AS from_ns,
    to_ns,
    CASE WHEN phase = 'draft' THEN (SELECT ns FROM draft_calls WHERE is_base) END AS base_all_reduce_ns,
    CASE WHEN phase = 'draft' THEN (SELECT ns FROM draft_calls WHERE NOT is_base) END AS other_all_reduce_ns,
    CASE WHEN category = 'moe_gemm' THEN (SELECT max(experts) FROM causes) END AS experts,
    CASE WHEN category = 'moe_gemm' THEN (SELECT touched FROM causes WHERE is_base) END AS base_experts,
    CASE WHEN category = 'moe_gemm' THEN (SELECT touched FROM causes WHERE NOT is_base) END AS other_experts,
    (SELECT signature.impl FROM signatures WHERE is_base AND signatures.category = levels.category) AS base_impl,
    (SELECT signature.impl FROM signatures WHERE NOT is_base AND signatures.category = levels.category) AS other_impl,
    (SELECT signature.bytes FROM signatures WHERE is_base AND signatures.category = levels.category) AS base_bytes,
    (SELECT signature.bytes FROM signatures WHERE NOT is_base AND signatures.category = levels.category) AS other_bytes
FROM levels
ORDER BY line
