-- What a file holds: its events, how many are readable and kept, its window and grain.
SELECT
    count(*) AS events,
    count(*) FILTER (skip IS NULL) AS kept,
    count(*) FILTER (skip IN ('not JSON', 'not an event', 'event too long')) AS unreadable,
    coalesce(min(start_ns) FILTER (is_window), min(start_ns) FILTER (skip IS NULL)) AS start_ns,
    coalesce(max(start_ns + dur_ns) FILTER (is_window), max(start_ns + dur_ns) FILTER (skip IS NULL))
        AS end_ns,
    CASE
        bool_and((start_ns - $base_ns) % 1000 = 0 AND dur_ns % 1000 = 0) FILTER (skip IS NULL)
        WHEN true THEN 1000
        WHEN false THEN 1
    END AS grain_ns
FROM (
    SELECT *, skip = 'profiler span' AND name LIKE 'PyTorch Profiler%' AS is_window
    FROM event
    WHERE file_id = $file_id
)
