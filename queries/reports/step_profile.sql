-- Time of each phase and category in every step, closed to the step; of many steps, in groups of neighbours.
--
-- Answers: does the time of a step change over the run, and what makes it?
-- Grain: one row per (group of steps, phase, category) with work, then the rows that close them to the step.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL as in breakdown.
--   $dp INTEGER = NULL: only this data-parallel engine; NULL = the mean over engines.
--   $rank INTEGER = NULL: only this rank; NULL = the mean over ranks.
--   $phase VARCHAR = NULL: one of prepare, forward, verify, sample, draft, other; the rest of the step is then one
--     row; NULL = all.
--   $category VARCHAR = NULL: only this category, likewise; NULL = all.
--   $bins INTEGER = 200: groups at most; where there are as few steps, each is one of its own.
-- Columns:
--   first_step INTEGER: first step of the group.
--   last_step INTEGER: last step of it.
--   n_steps BIGINT: steps in it, over engines.
--   row_kind VARCHAR: work, then overlap, wait_for_work and idle; or rest, where a phase or category is chosen.
--   phase VARCHAR: phase; NULL in closing rows.
--   category VARCHAR: category; NULL in closing rows.
--   busy_ns DOUBLE: mean over steps and ranks of the union of intervals; of overlap, busy time less the rows of work.
--   share_of_step DOUBLE: busy_ns / mean duration of the step; the rows of a group add up to 1.
-- Limits: measured steps (steps.is_measured) only. Work is attributed by its launch and unclipped, as in breakdown.

WITH chosen AS (
    SELECT dp, rank, step, dur_ns, busy_ns, idle_ns, coalesce(wait_for_work_ns, 0) AS wait_ns
    FROM chosen_steps($run, $kind, $dp)
    WHERE $rank IS NULL OR rank = $rank
),

units AS (
    SELECT
        dp, step, count(*) AS n_ranks,
        avg(dur_ns) AS dur_ns, avg(busy_ns) AS busy_ns, avg(idle_ns) AS idle_ns, avg(wait_ns) AS wait_ns,
        dense_rank() OVER (ORDER BY step) - 1 AS place
    FROM chosen
    GROUP BY dp, step
),

grouped AS (
    SELECT *, place // ceil((SELECT max(place) + 1 FROM units) / $bins)::BIGINT AS bin
    FROM units
),

bins AS (
    SELECT
        bin, min(step) AS first_step, max(step) AS last_step, count(*) AS n_steps,
        avg(dur_ns) AS dur_ns, avg(busy_ns) AS busy_ns, avg(idle_ns) AS idle_ns, avg(wait_ns) AS wait_ns
    FROM grouped
    GROUP BY bin
),

work AS (
    SELECT
        bin, 'work' AS row_kind, phase, category,
        sum(step_breakdown.busy_ns / n_ranks) / any_value(n_steps) AS busy_ns
    FROM step_breakdown
    SEMI JOIN chosen
        ON chosen.dp = step_breakdown.dp
        AND chosen.rank IS NOT DISTINCT FROM step_breakdown.rank
        AND chosen.step = step_breakdown.step
    INNER JOIN grouped ON grouped.dp = step_breakdown.dp AND grouped.step = step_breakdown.step
    INNER JOIN bins USING (bin)
    WHERE run = $run
        AND ($phase IS NULL OR phase = $phase)
        AND ($category IS NULL OR category = $category)
    GROUP BY bin, phase, category
),

closing AS (
    SELECT bin, unnest(
        CASE WHEN $phase IS NULL AND $category IS NULL
            THEN [
                {'row_kind': 'overlap', 'busy_ns': busy_ns - coalesce(work_ns, 0)},
                {'row_kind': 'wait_for_work', 'busy_ns': wait_ns},
                {'row_kind': 'idle', 'busy_ns': idle_ns}
            ]
            ELSE [{'row_kind': 'rest', 'busy_ns': dur_ns - coalesce(work_ns, 0)}]
        END,
        recursive := true
    )
    FROM bins
    LEFT JOIN (SELECT bin, sum(busy_ns) AS work_ns FROM work GROUP BY bin) USING (bin)
)

SELECT
    first_step,
    last_step,
    n_steps,
    row_kind,
    phase,
    category,
    table_rows.busy_ns,
    table_rows.busy_ns / nullif(dur_ns, 0) AS share_of_step
FROM (FROM work UNION ALL BY NAME FROM closing) AS table_rows
INNER JOIN bins USING (bin)
ORDER BY
    first_step,
    list_position(['work', 'overlap', 'rest', 'wait_for_work', 'idle'], row_kind),
    list_position(['prepare', 'forward', 'verify', 'sample', 'draft', 'other'], phase),
    category
