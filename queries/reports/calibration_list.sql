-- Runs that hold a measured curve of collectives.
--
-- Answers: with which curves can collectives be compared?
-- Grain: one row per run with calibrations, by name.
-- Params:
--   $run VARCHAR = NULL: only this run; NULL = all.
-- Columns:
--   run VARCHAR: run that holds the curve.
--   gpu VARCHAR: device it was measured on; NULL on CPU or where unknown.
--   n_ranks INTEGER[]: numbers of ranks measured, ascending; without those unknown.
--   categories VARCHAR[]: collectives measured, by name.
--   n BIGINT: sizes measured, over modes and collectives.
-- Limits: none.

SELECT
    run,
    min(gpu) AS gpu,
    coalesce(list(DISTINCT n_ranks ORDER BY n_ranks) FILTER (WHERE n_ranks IS NOT NULL), []) AS n_ranks,
    list(DISTINCT category ORDER BY category) AS categories,
    count(*) AS n
FROM calibrations
WHERE $run IS NULL OR run = $run
GROUP BY run
ORDER BY run
