-- What a file holds: its events, how many are readable and kept, its window and grain.
WITH
held AS (
    SELECT
        count(*) AS n,
        min(start_ns) AS start_ns,
        max(start_ns + dur_ns) AS end_ns,
        bool_and((start_ns - $base_ns) % 1000 = 0 AND dur_ns % 1000 = 0) AS is_whole
    FROM kept
    WHERE file_id = $file_id
),
lost AS (
    SELECT
        coalesce(sum(n), 0)::BIGINT AS n,
        coalesce(sum(n) FILTER (skip IN ('not JSON', 'not an event', 'event too long')), 0)::BIGINT
            AS unreadable,
        min(start_ns) FILTER (is_window) AS start_ns,
        max(end_ns) FILTER (is_window) AS end_ns
    FROM (
        SELECT *, skip = 'profiler span' AND name LIKE 'PyTorch Profiler%' AS is_window
        FROM skipped
        WHERE file_id = $file_id
    )
)
SELECT
    held.n + lost.n AS events,
    held.n AS kept,
    lost.unreadable,
    coalesce(lost.start_ns, held.start_ns) AS start_ns,
    coalesce(lost.end_ns, held.end_ns) AS end_ns,
    CASE held.is_whole WHEN true THEN 1000 WHEN false THEN 1 END AS grain_ns
FROM held
CROSS JOIN lost
