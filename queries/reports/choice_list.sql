-- What there is to choose from within a run: kinds of step, phases and categories.
--
-- Answers: which kinds of step, phases and categories does this run have?
-- Grain: one row per (choice, value).
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   choice VARCHAR: kind, phase or category.
--   value VARCHAR: one that the run has.
--   n BIGINT: steps of the kind, or activities of the phase or category in steps, over all ranks.
-- Limits: what lies in no step has no kind, phase or category here.

WITH found AS (
    SELECT 'kind' AS choice, kind AS value, count(*) AS n
    FROM steps
    WHERE run = $run
    GROUP BY kind
    UNION ALL
    SELECT 'phase', phase, sum(n)
    FROM step_phases
    WHERE run = $run
    GROUP BY phase
    UNION ALL
    SELECT 'category', category, sum(n)
    FROM step_breakdown
    WHERE run = $run
    GROUP BY category
)

SELECT choice, value, n::BIGINT AS n
FROM found
WHERE value IS NOT NULL
ORDER BY choice, n DESC, value
