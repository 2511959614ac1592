-- Kernels of two runs side by side: which are new, gone, slower or faster in a step.
--
-- Answers: which kernels make the other run faster or slower?
-- Grain: one row per (phase, name), most change first; with $top the rows after it are one.
-- Params:
--   $base VARCHAR[]: run to compare with, or several: repeats of one setting.
--   $other VARCHAR[]: run that is compared, or several.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL = the main kind of the base.
--   $batch INTEGER = NULL: only this batch size; NULL = that with most steps in common.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $top INTEGER = NULL: rows to list; NULL = all.
-- Columns:
--   change VARCHAR: new, gone, slower or faster; same under 1 % of its time in the base; NULL in the row of the rest.
--   phase VARCHAR: verify or forward (of the target's pass, as in compare_waterfall), draft, sample, prepare or other; NULL
--     in the row of the rest.
--   category VARCHAR: category; NULL in the row of the rest.
--   impl VARCHAR: implementation; NULL where the rule names none.
--   name VARCHAR: name exactly as in the trace; NULL in the row of the rest.
--   n_folded BIGINT: rows in the row of the rest; NULL in others.
--   base_step_ns DOUBLE: mean time in a step of the base: durations added up, ranks reduced by the mean.
--   other_step_ns DOUBLE: likewise of the other.
--   change_ns DOUBLE: other_step_ns - base_step_ns.
--   base_calls DOUBLE: mean calls in a step of the base, per rank.
--   other_calls DOUBLE: likewise of the other.
--   base_bytes BIGINT: of a collective, message that most of its time goes to; NULL where unknown.
--   other_bytes BIGINT: likewise.
-- Limits: durations are work, not wall time: kernels that overlap count in full. Per step, not per token. A kernel that
--     another takes the place of is gone, the other is new: compare the rows of a category.

WITH units AS (
    SELECT run, dp, step, is_base, n_ranks, n, if(bool_or(is_verify) OVER (), 'verify', 'forward') AS pass
    FROM matched_steps($base, $other, $kind, $dp, $batch)
),

totals AS (
    SELECT
        is_base,
        if(phase IN ('forward', 'verify'), pass, phase::VARCHAR) AS phase,
        category, impl, name,
        sum(dur_ns / n_ranks) / any_value(n) AS step_ns,
        sum(1 / n_ranks) / any_value(n) AS calls
    FROM activity
    INNER JOIN units USING (run, dp, step)
    GROUP BY ALL
),

messages AS (
    SELECT is_base, phase, name, arg_max(bytes, sum_ns) AS bytes
    FROM (
        SELECT is_base, if(phase IN ('forward', 'verify'), pass, phase) AS phase, name, bytes, sum(dur_ns) AS sum_ns
        FROM collectives
        INNER JOIN units USING (run, dp, step)
        WHERE bytes IS NOT NULL
        GROUP BY ALL
    )
    GROUP BY is_base, phase, name
),

kernels AS (
    SELECT
        phase, category, impl, name,
        sum(step_ns) FILTER (WHERE is_base) AS base_step_ns,
        sum(step_ns) FILTER (WHERE NOT is_base) AS other_step_ns,
        coalesce(other_step_ns, 0) - coalesce(base_step_ns, 0) AS change_ns,
        sum(calls) FILTER (WHERE is_base) AS base_calls,
        sum(calls) FILTER (WHERE NOT is_base) AS other_calls,
        any_value(bytes) FILTER (WHERE is_base) AS base_bytes,
        any_value(bytes) FILTER (WHERE NOT is_base) AS other_bytes
    FROM totals
    LEFT JOIN messages USING (is_base, phase, name)
    GROUP BY phase, category, impl, name
),

ranked AS (
    SELECT
        *,
        CASE
            WHEN base_step_ns IS NULL THEN 'new'
            WHEN other_step_ns IS NULL THEN 'gone'
            WHEN abs(change_ns) < 0.01 * base_step_ns THEN 'same'
            WHEN change_ns > 0 THEN 'slower'
            ELSE 'faster'
        END AS change,
        row_number() OVER (ORDER BY abs(change_ns) DESC, phase, category, impl, name) AS place
    FROM kernels
),

lines AS (
    SELECT *, CASE WHEN count(*) OVER () > $top + 1 THEN least(place, $top + 1) ELSE place END AS line
    FROM ranked
)

SELECT
    if(count(*) = 1, any_value(change), NULL) AS change,
    if(count(*) = 1, any_value(phase), NULL) AS phase,
    if(count(*) = 1, any_value(category), NULL) AS category,
    if(count(*) = 1, any_value(impl), NULL) AS impl,
    if(count(*) = 1, any_value(name), NULL) AS name,
    if(count(*) = 1, NULL, count(*)) AS n_folded,
    sum(base_step_ns) AS base_step_ns,
    sum(other_step_ns) AS other_step_ns,
    sum(change_ns) AS change_ns,
    sum(base_calls) AS base_calls,
    sum(other_calls) AS other_calls,
    if(count(*) = 1, any_value(base_bytes), NULL) AS base_bytes,
    if(count(*) = 1, any_value(other_bytes), NULL) AS other_bytes
FROM lines
GROUP BY line
ORDER BY line
