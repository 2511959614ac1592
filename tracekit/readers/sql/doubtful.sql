-- Kept events with times that no device has, as warnings of the ledger (skipped = 0).
INSERT INTO ledger
WITH
slow AS (
    SELECT DISTINCT file_id, stream
    FROM device_event
    WHERE kind = 'kernel' AND dur_ns >= 1000000000
),
followed AS (
    SELECT
        *,
        lead(start_ns) OVER (PARTITION BY file_id, device, stream ORDER BY start_ns) AS next_ns
    FROM device_event
    SEMI JOIN slow USING (file_id, stream)
),
launch AS (
    SELECT file_id, correlation, min(start_ns) AS launch_ns
    FROM host_call
    WHERE correlation <> 0
    GROUP BY file_id, correlation
),
doubt AS (
    SELECT
        file_id,
        'runs for seconds, over the next on its stream' AS reason,
        name || ', ' || dur_ns || ' ns' AS example
    FROM followed
    WHERE kind = 'kernel' AND dur_ns >= 1000000000 AND start_ns + dur_ns > next_ns
    UNION ALL
    SELECT
        file_id,
        'starts before its launch' AS reason,
        name || ', ' || (launch_ns - start_ns) || ' ns early' AS example
    FROM device_event
    INNER JOIN launch USING (file_id, correlation)
    WHERE start_ns < launch_ns
)
SELECT $run, file_id, reason, NULL, NULL, 0, count(*) || ' events; ' || min(example), true
FROM doubt
GROUP BY file_id, reason
