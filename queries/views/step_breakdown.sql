-- Time of each category in each phase of a step.
--
-- Answers: what does a step spend its time on?
-- Grain: one row per (run, dp, rank, step, phase, category) that has activities.
-- Columns:
--   run VARCHAR: run.
--   dp INTEGER: data-parallel engine.
--   rank INTEGER: rank; NULL where unknown.
--   step INTEGER: step.
--   phase VARCHAR: prepare, forward, verify, sample, draft or other.
--   category VARCHAR: what the work is for; unknown where no rule knows the name.
--   kind VARCHAR: kind of the step.
--   n BIGINT: activities.
--   sum_ns BIGINT: sum of durations (work), ns.
--   busy_ns BIGINT: union of intervals over all streams (wall), ns.
--   exposed_ns BIGINT: part of the union in which no activity of another category runs, ns.
--   overhang_ns BIGINT: part of the union outside the step's window, ns.
--   share_of_step DOUBLE: busy_ns / the step's dur_ns; NULL for a step without a window.
--   share_of_busy DOUBLE: busy_ns / the step's busy_ns; NULL where that is 0.
-- Limits: unclipped, and categories overlap across streams: rows of a step need not add up to its busy_ns.

SELECT
    step_category.run,
    step_category.dp,
    step_category.rank,
    step_category.step,
    step_category.phase::VARCHAR AS phase,
    step_category.category,
    step.kind,
    step_category.n,
    step_category.sum_ns,
    step_category.busy_ns,
    step_category.exposed_ns,
    step_category.overhang_ns,
    step_category.busy_ns / nullif(step.dur_ns, 0) AS share_of_step,
    step_category.busy_ns / nullif(step.busy_ns, 0) AS share_of_busy
FROM step_category
INNER JOIN step
    ON step.run = step_category.run
    AND step.dp = step_category.dp
    AND step.rank IS NOT DISTINCT FROM step_category.rank
    AND step.step = step_category.step
