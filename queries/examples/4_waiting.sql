-- How long each rank waits in collectives
SELECT run, category, rank, count(*) AS calls, avg(wait_ns) / 1e3 AS wait_us, avg(transfer_ns) / 1e3 AS transfer_us
FROM collectives
WHERE match <> 'none'
GROUP BY run, category, rank
ORDER BY run, category, rank
