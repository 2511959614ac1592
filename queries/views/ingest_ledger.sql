-- What became of every event of every file.
--
-- Answers: was anything lost on the way in?
-- Grain: one row per (run, file, reason); the row with reason NULL is the file's total.
-- Columns:
--   run VARCHAR: run.
--   file VARCHAR: path relative to what was ingested.
--   events BIGINT: events the reader counted in the file; NULL in a row with a reason.
--   kept BIGINT: rows of the file in the tables; NULL in a row with a reason.
--   skipped BIGINT: events skipped, for the reason or in total; events = kept + skipped in the total row.
--   reason VARCHAR: why events were skipped, or what kept events are suspected of (skipped = 0).
--   example VARCHAR: one such event or its place; NULL for kinds not needed.
--   is_loss BOOLEAN: false for kinds that are not needed (flows, Python functions, metadata).
-- Limits: only files that are traces have rows.

SELECT
    ledger.run,
    file.path AS file,
    ledger.events,
    ledger.kept,
    ledger.skipped,
    ledger.reason,
    ledger.example,
    ledger.is_loss
FROM ledger
INNER JOIN file ON file.run = ledger.run AND file.file_id = ledger.file_id
