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
-- Hardly any: so a call that did come before is looked for only where one came after.
called_late AS (
    SELECT id, device_event.file_id, correlation, device_event.name, device_event.start_ns,
        min(host_call.start_ns - device_event.start_ns) AS early_ns
    FROM device_event
    INNER JOIN host_call USING (file_id, correlation)
    WHERE correlation <> 0 AND host_call.start_ns > device_event.start_ns
    GROUP BY ALL
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
        called_late.file_id,
        'starts before its launch' AS reason,
        called_late.name || ', ' || early_ns || ' ns early' AS example
    FROM called_late
    ANTI JOIN host_call
        ON host_call.file_id = called_late.file_id
        AND host_call.correlation = called_late.correlation
        AND host_call.start_ns <= called_late.start_ns
)
SELECT $run, file_id, reason, NULL, NULL, 0, count(*) || ' events; ' || min(example), true
FROM doubt
GROUP BY file_id, reason
