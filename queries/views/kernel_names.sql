-- Distinct kernel and op names, their class, the rule that gave it, and their time.
--
-- Answers: which kernels are there, and why does each count as what it counts as?
-- Grain: one row per (run, name).
-- Columns:
--   run VARCHAR: run.
--   name VARCHAR: name exactly as in the trace.
--   category VARCHAR: category the rules give; unknown where none matches.
--   impl VARCHAR: implementation the rule names; NULL where it names none.
--   rule VARCHAR: rule that won; NULL where unknown.
--   n BIGINT: activities of that name over all ranks and steps.
--   sum_ns BIGINT: sum of their durations, ns.
--   weight_type VARCHAR: Marlin weight type (u4b8, fp8_e4m3fn, ...); NULL elsewhere.
--   group_size INTEGER: Marlin weights per scale, -1 = one scale per channel; NULL elsewhere.
--   tile VARCHAR: Marlin thread-block tile MxNxK; NULL elsewhere.
-- Limits: of a kernel whose name hides the collective (RCCL Generic) the activity's own category counts, not this one.

WITH totals AS (
    SELECT run, name, count(*) AS n, sum(dur_ns)::BIGINT AS sum_ns
    FROM activity
    GROUP BY run, name
)

SELECT
    kernel.run,
    kernel.name,
    kernel.category,
    kernel.impl,
    kernel.rule,
    totals.n,
    totals.sum_ns,
    kernel.weight_type,
    kernel.group_size,
    kernel.tile
FROM kernel
INNER JOIN totals ON totals.run = kernel.run AND totals.name = kernel.name
