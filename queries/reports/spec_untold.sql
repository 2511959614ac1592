-- Why the server's counters do not tell which drafts were accepted.
--
-- Answers: are the /metrics texts missing, unusable, or was there no draft?
-- Grain: one row.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   reason VARCHAR: in words.
-- Limits: for runs without a row in spec_totals; of others it tells what went wrong beside what was counted.

WITH unusable AS (
    SELECT string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reasons
    FROM ingest_ledger
    WHERE run = $run AND starts_with(reason, 'counters of drafts ')
),

texts AS (
    SELECT count(*) AS n
    FROM file
    WHERE run = $run AND kind = 'metrics'
)

SELECT CASE
    WHEN reasons IS NOT NULL THEN 'of the /metrics texts beside it ' || reasons
    WHEN n > 1 THEN 'the /metrics texts beside it tell of no draft in the window'
    ELSE 'no /metrics text from before and after the window beside it'
END AS reason
FROM unusable
CROSS JOIN texts
