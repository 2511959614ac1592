-- What an ingest left out, and why
SELECT run, file, reason, skipped, is_loss, example
FROM ingest_ledger
WHERE reason IS NOT NULL
ORDER BY is_loss DESC, skipped DESC
