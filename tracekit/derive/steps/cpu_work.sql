-- Activities of a CPU run: the innermost op that does work, and the spans of gloo collectives.
--
-- Ops without work of their own (views, allocations, wrappers; taxonomy.toml) are passed over, so
-- their time stays with the op around them. A gloo collective is enqueued by a c10d op on the main
-- thread and runs as a `gloo:` span on another; the span counts, at the moment of its enqueueing op
-- (of its own start where that op is not in the trace).
--
-- Makes: gloo_span, work.

CREATE TEMP TABLE gloo_span AS
WITH span AS (
    SELECT
        *, row_number() OVER (PARTITION BY file_id, gloo ORDER BY start_ns) AS place
    FROM (
        SELECT *, replace(substr(name, 6), '_', '') AS gloo
        FROM scope
        WHERE NOT is_device AND starts_with(name, 'gloo:')
    )
),
enqueued AS (
    SELECT
        file_id, thread AS at_thread, start_ns AS at_ns, gloo,
        row_number() OVER (PARTITION BY file_id, gloo ORDER BY start_ns) AS place
    FROM (
        SELECT *, replace(replace(substr(name, 7), '_', ''), 'base', '') AS gloo
        FROM host_op
        WHERE starts_with(name, 'c10d::')
    )
)
SELECT span.*, coalesce(at_ns, start_ns) AS at_ns, coalesce(at_thread, thread) AS at_thread
FROM span
LEFT JOIN enqueued USING (file_id, gloo, place);

INSERT INTO work
WITH candidate AS (
    SELECT
        file_id, thread, start_ns, start_ns + dur_ns AS end_ns, name,
        lead(start_ns) OVER (
            PARTITION BY file_id, thread ORDER BY start_ns, dur_ns DESC
        ) AS next_ns
    FROM host_op
    WHERE (SELECT backend FROM backend) = 'cpu'
        AND name NOT IN (
            SELECT name
            FROM cpu_no_work
            WHERE reason != 'enqueue' OR EXISTS (FROM gloo_span)
        )
),
innermost AS (
    SELECT file_id, thread, start_ns, end_ns, name, start_ns AS at_ns, thread AS at_thread
    FROM candidate
    WHERE next_ns IS NULL OR next_ns >= end_ns
    UNION ALL
    SELECT file_id, thread, start_ns, start_ns + dur_ns, name, at_ns, at_thread
    FROM gloo_span
    WHERE (SELECT backend FROM backend) = 'cpu'
),
numbered AS (
    SELECT *, row_number() OVER () - 1 AS id
    FROM innermost
)
SELECT
    id, file_id, name_id, category_id, false, NULL, thread, start_ns, end_ns, -1 - id, at_thread, NULL, at_ns,
    NULL, false
FROM numbered
JOIN signature USING (name)
JOIN category_code USING (category);
