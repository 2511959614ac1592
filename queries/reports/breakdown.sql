-- Mean time of a step, by phase and category (or impl, or kernel), closed to the step exactly.
--
-- Answers: what does a decode step spend its time on?
-- Grain: one row per (phase, category[, impl[, name]]), then the rows that close them to the step.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL = decode where the run has such steps,
--     else its commonest kind.
--   $phase VARCHAR = NULL: one of prepare, forward, verify, sample, draft, other; the rest of the step is then one
--     row; NULL = all.
--   $category VARCHAR = NULL: only this category, as with $phase; shares stay those of the whole step; NULL = all.
--   $rank INTEGER = NULL: only this rank; NULL = the mean over ranks.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = all.
--   $step INTEGER = NULL: only this step, even if it is cut; of $kind, else where engines differ in kind of
--     decode, else of the commonest.
--   $by VARCHAR = 'category': one of category, impl, kernel.
--   $fold DOUBLE = 0.0: rows under this share of busy time become one row per phase; unknown never does.
-- Columns:
--   row_kind VARCHAR: work, then overlap, and rest or wait_for_work and idle; step is the sum of all.
--   phase VARCHAR: phase; NULL in closing rows.
--   category VARCHAR: category; NULL in closing and folded rows.
--   impl VARCHAR: implementation; NULL by category and where there is none.
--   name VARCHAR: kernel name; NULL unless by kernel.
--   n_folded BIGINT: rows folded into this one; NULL in others.
--   busy_ns BIGINT: mean over steps of the union of intervals; of overlap, busy time (of $category, added
--     up over phases) less the rows above.
--   share_of_step DOUBLE: busy_ns / mean duration of the step.
--   share_of_busy DOUBLE: busy_ns / mean busy time of the step; NULL in rows that are no busy time.
--   exposed_ns BIGINT: mean time in which no other category runs; NULL unless by category.
--   calls DOUBLE: mean activities per rank and step; NULL in closing rows.
--   ns_per_call DOUBLE: sum of durations / activities; NULL in closing rows.
--   p10_ns BIGINT: 10th percentile of busy_ns over steps; NULL with a single step and for overlap and rest.
--   p90_ns BIGINT: 90th percentile, likewise.
-- Limits: the unit is the step, ranks reduced first by the mean; a step without the row counts as 0. Cut steps are
--     left out (steps.is_measured). Work is attributed by its launch and unclipped, so overlap can be positive.

WITH chosen AS (
    SELECT dp, rank, step, dur_ns, busy_ns, coalesce(wait_for_work_ns, 0) AS wait_ns, idle_ns
    FROM asked_steps($run, $kind, $dp, $rank, $step)
    WHERE is_shown
),

units AS (
    SELECT
        dp, step, count(*) AS n_ranks,
        avg(dur_ns) AS dur_ns, avg(busy_ns) AS busy_ns, avg(wait_ns) AS wait_ns, avg(idle_ns) AS idle_ns
    FROM chosen
    GROUP BY dp, step
),

-- The part of an activity that no earlier one of its row covers: these add up to the union.
activity_parts AS (
    SELECT
        activity.*,
        greatest(0, start_ns + dur_ns - greatest(start_ns, max(start_ns + dur_ns) OVER earlier)) AS new_ns
    FROM activity
    SEMI JOIN chosen
        ON chosen.dp = activity.dp AND chosen.rank IS NOT DISTINCT FROM activity.rank AND chosen.step = activity.step
    WHERE activity.run = $run AND $by <> 'category' AND ($category IS NULL OR activity.category = $category)
    WINDOW earlier AS (
        PARTITION BY dp, rank, step, phase, category, impl, CASE WHEN $by = 'kernel' THEN name END
        ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),

per_rank AS (
    SELECT
        dp, step, phase::VARCHAR AS phase, {'category': category, 'impl': impl, 'name': CASE WHEN $by = 'kernel' THEN name END} AS item,
        1 AS n, dur_ns AS sum_ns, new_ns AS busy_ns, NULL AS exposed_ns
    FROM activity_parts
    UNION ALL
    SELECT
        dp, step, phase::VARCHAR, {'category': category, 'impl': NULL, 'name': NULL},
        n, sum_ns, busy_ns, exposed_ns
    FROM step_category
    SEMI JOIN chosen
        ON chosen.dp = step_category.dp
        AND chosen.rank IS NOT DISTINCT FROM step_category.rank
        AND chosen.step = step_category.step
    WHERE run = $run AND $by = 'category' AND ($category IS NULL OR category = $category)
),

per_step AS (
    SELECT
        dp, step, phase, item,
        sum(n) / any_value(n_ranks) AS n,
        sum(sum_ns) / any_value(n_ranks) AS sum_ns,
        sum(per_rank.busy_ns) / any_value(n_ranks) AS busy_ns,
        sum(exposed_ns) / any_value(n_ranks) AS exposed_ns
    FROM per_rank
    INNER JOIN units USING (dp, step)
    WHERE phase = $phase OR $phase IS NULL
    GROUP BY dp, step, phase, item
),

small AS (
    SELECT phase, item
    FROM per_step
    GROUP BY phase, item
    HAVING item.category <> 'unknown' AND sum(busy_ns) < $fold * (SELECT sum(busy_ns) FROM units)
    QUALIFY count(*) OVER (PARTITION BY phase) > 1
),

folded AS (
    SELECT
        dp, step, per_step.phase, CASE WHEN small.item IS NULL THEN per_step.item END AS item,
        sum(n) AS n, sum(sum_ns) AS sum_ns, sum(busy_ns) AS busy_ns, sum(exposed_ns) AS exposed_ns
    FROM per_step
    LEFT JOIN small ON small.phase = per_step.phase AND small.item = per_step.item
    GROUP BY ALL
),

totals AS (
    SELECT
        count(*) AS n_steps,
        round(avg(dur_ns))::BIGINT AS step_ns,
        round(avg(busy_ns))::BIGINT AS step_busy_ns,
        round(avg(wait_ns))::BIGINT AS wait_ns,
        quantile_cont(dur_ns, [0.1, 0.9]) AS step_spread,
        quantile_cont(wait_ns, [0.1, 0.9]) AS wait_spread,
        quantile_cont(idle_ns, [0.1, 0.9]) AS idle_spread
    FROM units
),

-- Padding with zeros makes the steps that lack the row count.
work AS (
    SELECT
        'work' AS row_kind, phase, item,
        round(sum(busy_ns) / n_steps)::BIGINT AS busy_ns,
        round(sum(exposed_ns) / n_steps)::BIGINT AS exposed_ns,
        sum(n) / n_steps AS calls,
        sum(sum_ns) / sum(n) AS ns_per_call,
        list_aggregate(list_resize(list(busy_ns), n_steps, 0), 'quantile_cont', [0.1, 0.9]) AS spread
    FROM folded
    CROSS JOIN totals
    GROUP BY phase, item, n_steps
),

-- What is asked for, where that is not all of the step.
asked AS (
    SELECT dp, rank, step, busy_ns
    FROM step_phase
    WHERE run = $run AND phase = $phase AND $category IS NULL
    UNION ALL
    SELECT dp, rank, step, busy_ns
    FROM step_category
    WHERE run = $run AND category = $category AND ($phase IS NULL OR phase = $phase)
),

covered AS (
    SELECT CASE WHEN coalesce($phase, $category) IS NULL THEN step_busy_ns ELSE coalesce((
        SELECT round(sum(asked.busy_ns / n_ranks) / n_steps)::BIGINT
        FROM asked
        INNER JOIN chosen
            ON chosen.dp = asked.dp AND chosen.rank IS NOT DISTINCT FROM asked.rank AND chosen.step = asked.step
        INNER JOIN units ON units.dp = asked.dp AND units.step = asked.step
    ), 0) END AS covered_ns
    FROM totals
),

closing AS (
    SELECT unnest([
        {'row_kind': 'overlap', 'busy_ns': covered_ns - coalesce((SELECT sum(busy_ns)::BIGINT FROM work), 0),
         'spread': NULL},
        {'row_kind': 'rest', 'busy_ns': step_ns - covered_ns, 'spread': NULL},
        {'row_kind': 'wait_for_work', 'busy_ns': wait_ns, 'spread': wait_spread},
        {'row_kind': 'idle', 'busy_ns': step_ns - covered_ns - wait_ns, 'spread': idle_spread},
        {'row_kind': 'step', 'busy_ns': step_ns, 'spread': step_spread}
    ], recursive := true)
    FROM totals
    CROSS JOIN covered
    WHERE n_steps > 0
)

SELECT
    row_kind,
    phase,
    item.category,
    item.impl,
    item.name,
    CASE WHEN row_kind = 'work' AND item IS NULL
        THEN (SELECT count(*) FROM small WHERE small.phase = table_rows.phase)
    END AS n_folded,
    table_rows.busy_ns,
    table_rows.busy_ns / nullif(step_ns, 0) AS share_of_step,
    CASE WHEN row_kind IN ('work', 'overlap') THEN table_rows.busy_ns / nullif(step_busy_ns, 0) END AS share_of_busy,
    exposed_ns,
    calls,
    ns_per_call,
    CASE WHEN n_steps > 1 THEN round(spread[1])::BIGINT END AS p10_ns,
    CASE WHEN n_steps > 1 THEN round(spread[2])::BIGINT END AS p90_ns
FROM (FROM work UNION ALL BY NAME FROM closing) AS table_rows
CROSS JOIN totals
WHERE CASE row_kind
    WHEN 'rest' THEN coalesce($phase, $category) IS NOT NULL
    WHEN 'idle' THEN coalesce($phase, $category) IS NULL
    WHEN 'wait_for_work' THEN coalesce($phase, $category) IS NULL AND wait_ns > 0
    ELSE true
END
ORDER BY
    list_position(['work', 'overlap', 'rest', 'wait_for_work', 'idle', 'step'], row_kind),
    sum(table_rows.busy_ns) OVER (PARTITION BY phase) DESC,
    phase,
    item IS NULL,
    table_rows.busy_ns DESC,
    item
