-- Where the time of decode steps goes
SELECT run, phase, category, avg(busy_ns) / 1e6 AS busy_ms, avg(share_of_step) AS share_of_step
FROM step_breakdown
WHERE kind = 'decode'
GROUP BY run, phase, category
ORDER BY run, busy_ms DESC
