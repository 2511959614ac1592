-- What became of the events of each trace file.
--
-- Answers: how many events of each file are in the tables, and how many were left out, for need or by loss?
-- Grain: one row per trace file.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   file VARCHAR: path relative to what was ingested.
--   events BIGINT: events the reader counted in the file: kept + not_needed + lost.
--   kept BIGINT: rows of the file in the tables.
--   not_needed BIGINT: events skipped since their kind is not needed (flows, Python functions, metadata).
--   lost BIGINT: events skipped for another reason; the report losses names each.
-- Limits: only files that are traces have rows.

SELECT
    file,
    max(events)::BIGINT AS events,
    max(kept)::BIGINT AS kept,
    coalesce(sum(skipped) FILTER (WHERE reason IS NOT NULL AND NOT is_loss), 0)::BIGINT AS not_needed,
    coalesce(sum(skipped) FILTER (WHERE reason IS NOT NULL AND is_loss), 0)::BIGINT AS lost
FROM ingest_ledger
WHERE run = $run
GROUP BY file
ORDER BY file
