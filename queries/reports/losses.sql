-- What an ingest skipped or suspects, apart from kinds that are not needed.
--
-- Answers: what of my traces is missing or doubtful?
-- Grain: one row per (file, reason), most events first.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   file VARCHAR: path relative to what was ingested.
--   reason VARCHAR: why events were skipped, or what kept events are suspected of.
--   skipped BIGINT: events skipped; 0 where they were kept with a warning.
--   events BIGINT: events of the file.
--   example VARCHAR: one of them, or its place in the file.
-- Limits: ingest_ledger has the rest.

WITH totals AS (
    SELECT file, events
    FROM ingest_ledger
    WHERE run = $run AND reason IS NULL
)

SELECT
    file,
    reason,
    skipped,
    totals.events,
    example
FROM ingest_ledger
LEFT JOIN totals USING (file)
WHERE run = $run AND reason IS NOT NULL AND is_loss
ORDER BY skipped DESC, file, reason
