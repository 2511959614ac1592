-- What there is to choose from in a run: engines, ranks and steps.
--
-- Answers: which engines, ranks and steps does this run have?
-- Grain: one row per data-parallel engine.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   dp INTEGER: data-parallel engine.
--   ranks INTEGER[]: its ranks in ascending order; without those that nothing tells.
--   steps INTEGER[]: numbers of its steps in ascending order.
-- Limits: none.

WITH found AS (
    SELECT dp, rank, NULL AS step
    FROM file
    WHERE run = $run AND kind = 'trace'
    UNION ALL
    SELECT dp, rank, step
    FROM steps
    WHERE run = $run
)

SELECT
    dp,
    coalesce(list(DISTINCT rank ORDER BY rank) FILTER (WHERE rank IS NOT NULL), []) AS ranks,
    coalesce(list(DISTINCT step ORDER BY step) FILTER (WHERE step IS NOT NULL), []) AS steps
FROM found
GROUP BY dp
ORDER BY dp
