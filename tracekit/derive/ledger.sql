-- Total row of each trace file: what the reader counted, what the tables hold, what was skipped.
--
-- Makes: ledger.

INSERT INTO ledger
WITH kept AS (
    SELECT file_id, count(*) AS kept
    FROM (
        SELECT file_id FROM activity WHERE device_kind = 'gpu'
        UNION ALL
        SELECT file_id FROM host_call
        UNION ALL
        SELECT file_id FROM host_op
        UNION ALL
        SELECT file_id FROM scope
    )
    GROUP BY ALL
),
skipped AS (
    SELECT file_id, sum(skipped)::BIGINT AS skipped
    FROM ledger
    GROUP BY ALL
)
SELECT $run, file_id, NULL, events, coalesce(kept, 0), coalesce(skipped, 0), NULL, false
FROM file
LEFT JOIN kept USING (file_id)
LEFT JOIN skipped USING (file_id)
WHERE kind IN ('trace', 'frontend');
