-- The ledger's warning of kept events whose args have text where a number should be.
INSERT INTO ledger
SELECT
    $run, file_id, 'argument not a number', NULL, NULL, 0,
    sum(n) || ' events, such as ' || any_value(example), true
FROM untyped
WHERE file_id = $file_id
GROUP BY file_id
