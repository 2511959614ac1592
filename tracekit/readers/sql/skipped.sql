-- The ledger's reasons of one file.
-- Only a fault leaves an example behind, or the span of the profiler, which is not needed either.
INSERT INTO ledger
SELECT
    $run,
    file_id,
    skip::VARCHAR AS reason,
    NULL AS events,
    NULL AS kept,
    sum(n) AS skipped,
    any_value(name) FILTER (skip <> 'profiler span') AS example,
    example IS NOT NULL AS is_loss
FROM skipped
WHERE file_id = $file_id
GROUP BY file_id, skip
