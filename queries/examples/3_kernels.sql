-- The longest kernels, and what each call takes
SELECT run, category, impl, name, n, sum_ns / 1e6 AS sum_ms, sum_ns / n / 1e3 AS us_per_call
FROM kernel_names
ORDER BY sum_ns DESC
LIMIT 50
