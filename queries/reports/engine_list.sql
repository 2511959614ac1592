-- What there is to choose from in a run: engines, ranks and steps.
--
-- Answers: which engines, ranks and steps does this run have?
-- Grain: one row per data-parallel engine that has steps.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   dp INTEGER: data-parallel engine.
--   ranks INTEGER[]: its ranks in ascending order; without those that nothing tells.
--   steps INTEGER[]: numbers of its steps in ascending order.
-- Limits: none.

SELECT
    dp,
    coalesce(list(DISTINCT rank ORDER BY rank) FILTER (WHERE rank IS NOT NULL), []) AS ranks,
    list(DISTINCT step ORDER BY step) AS steps
FROM steps
WHERE run = $run
GROUP BY dp
ORDER BY dp
