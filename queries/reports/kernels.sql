-- Kernel and op names by time, with the class each has and the rule that gave it.
--
-- Answers: which kernels take the time, and which does no rule know?
-- Grain: one row per name, longest first; with $top the names after it are one row.
-- Params:
--   $run VARCHAR: run to read.
--   $category VARCHAR = NULL: only this category.
--   $top INTEGER = NULL: names to list; NULL = all.
-- Columns:
--   name VARCHAR: name exactly as in the trace; NULL in the row of the rest.
--   n_folded BIGINT: names in the row of the rest; NULL in others.
--   category VARCHAR: category; NULL in the row of the rest.
--   impl VARCHAR: implementation; NULL where the rule names none.
--   rule VARCHAR: rule that won; NULL where none did.
--   n BIGINT: activities over all ranks and steps.
--   sum_ns BIGINT: their durations added up.
--   ns_per_call DOUBLE: mean duration.
--   share DOUBLE: sum_ns / that of all activities of the run.
--   weight_type VARCHAR: Marlin weight type; NULL elsewhere.
--   group_size INTEGER: Marlin group size; NULL elsewhere.
--   tile VARCHAR: Marlin tile MxNxK; NULL elsewhere.
-- Limits: durations are work, not wall time: kernels that overlap count in full.

WITH shares AS (
    SELECT *, sum_ns / sum(sum_ns) OVER () AS share
    FROM kernel_names
    WHERE run = $run
),

ranked AS (
    SELECT
        *,
        row_number() OVER (ORDER BY sum_ns DESC, name) AS place
    FROM shares
    WHERE $category IS NULL OR category = $category
),

lines AS (
    SELECT *, CASE WHEN count(*) OVER () > $top + 1 THEN least(place, $top + 1) ELSE place END AS line
    FROM ranked
)

SELECT
    if(count(*) = 1, any_value(name), NULL) AS name,
    if(count(*) = 1, NULL, count(*)) AS n_folded,
    if(count(*) = 1, any_value(category), NULL) AS category,
    if(count(*) = 1, any_value(impl), NULL) AS impl,
    if(count(*) = 1, any_value(rule), NULL) AS rule,
    sum(n)::BIGINT AS n,
    sum(sum_ns)::BIGINT AS sum_ns,
    sum(sum_ns) / sum(n) AS ns_per_call,
    sum(share) AS share,
    if(count(*) = 1, any_value(weight_type), NULL) AS weight_type,
    if(count(*) = 1, any_value(group_size), NULL) AS group_size,
    if(count(*) = 1, any_value(tile), NULL) AS tile
FROM lines
GROUP BY line
ORDER BY line
