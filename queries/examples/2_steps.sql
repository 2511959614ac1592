-- Steps over time, by rank
SELECT run, step, rank, dur_ns / 1e6 AS step_ms, busy_ns / 1e6 AS busy_ms, idle_ns / 1e6 AS idle_ms
FROM steps
WHERE kind = 'decode' AND is_complete
ORDER BY run, step, rank
