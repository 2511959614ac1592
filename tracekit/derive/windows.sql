-- Device windows of the host steps, and how each window's time was spent.
--
-- A window runs from the step's anchor, its first kernel on its main stream, to the next step's; on
-- CPU it is the host step. busy counts every activity of the file that falls into the window.

CREATE TEMP TABLE step_work AS
WITH by_stream AS (
    SELECT
        file_id, k, device, stream, min(start_ns) AS start_ns, sum(end_ns - start_ns) AS sum_ns
    FROM attributed
    WHERE activity_kind = 'kernel' AND k IS NOT NULL
    GROUP BY ALL
),
main AS (
    SELECT file_id, k, arg_max(stream, sum_ns) AS main_stream, arg_max(start_ns, sum_ns) AS anchor_ns
    FROM by_stream
    GROUP BY ALL
),
spanned AS (
    SELECT file_id, k, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM attributed
    WHERE k IS NOT NULL
    GROUP BY ALL
)
SELECT *
FROM spanned
LEFT JOIN main USING (file_id, k);

CREATE TEMP TABLE step_window AS
SELECT
    file_id, k, main_stream, first_ns, last_ns,
    CASE WHEN backend = 'cpu' THEN begin_ns ELSE anchor_ns END AS start_ns,
    CASE WHEN backend = 'cpu' THEN end_ns ELSE coalesce(
        lead(anchor_ns) OVER (PARTITION BY file_id ORDER BY anchor_ns), last_ns
    ) END AS stop_ns
FROM host_step
JOIN step_work USING (file_id, k)
CROSS JOIN backend
WHERE backend = 'cpu' OR anchor_ns IS NOT NULL;

-- Unions of all activities of a file, with the busy time that lies before each.
CREATE TEMP TABLE island AS
WITH reached AS (
    SELECT
        file_id, start_ns, end_ns, launch_ns,
        max(end_ns) OVER (
            PARTITION BY file_id ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM attributed
),
opened AS (
    SELECT
        *,
        count_if(reached_ns IS NULL OR start_ns > reached_ns) OVER (
            PARTITION BY file_id ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
        ) AS island
    FROM reached
),
merged AS (
    SELECT
        file_id, island, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        arg_min_null(reached_ns, start_ns) AS gap_ns, arg_min_null(launch_ns, start_ns) AS launch_ns
    FROM opened
    GROUP BY ALL
)
SELECT
    file_id, start_ns, end_ns, gap_ns, launch_ns,
    coalesce(sum(end_ns - start_ns) OVER (
        PARTITION BY file_id ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0)::BIGINT AS busy_before_ns
FROM merged;

-- Per window: busy time by the unions, and the part of its gaps in which nothing was queued, that is
-- before the activity that ends the gap was launched.
CREATE TEMP TABLE step_time AS
WITH edge AS (
    SELECT file_id, k, start_ns AS at_ns, -1 AS sign FROM step_window
    UNION ALL
    SELECT file_id, k, stop_ns, 1 FROM step_window
),
busy AS (
    SELECT
        edge.file_id, k,
        sum(sign * coalesce(busy_before_ns + least(edge.at_ns, end_ns) - start_ns, 0)) AS busy_ns
    FROM edge
    ASOF LEFT JOIN island ON edge.file_id = island.file_id AND edge.at_ns >= island.start_ns
    GROUP BY ALL
),
starved AS (
    SELECT
        step_window.file_id, k,
        sum(greatest(0, least(launch_ns, island.start_ns) - gap_ns)) AS starved_ns
    FROM island
    ASOF JOIN step_window
        ON island.file_id = step_window.file_id AND island.gap_ns >= step_window.start_ns
    WHERE gap_ns < stop_ns
    GROUP BY ALL
),
delay AS (
    SELECT file_id, k, median(delay_ns)::BIGINT AS launch_delay_ns
    FROM (
        SELECT file_id, k, launch_ns, min(start_ns) - launch_ns AS delay_ns
        FROM attributed
        WHERE launch_ns IS NOT NULL AND k IS NOT NULL
        GROUP BY file_id, k, launch_ns
    )
    GROUP BY ALL
)
SELECT
    step_window.*, busy_ns::BIGINT AS busy_ns, launch_delay_ns,
    CASE WHEN launch_delay_ns IS NOT NULL THEN coalesce(starved_ns, 0)::BIGINT END AS starved_ns
FROM step_window
LEFT JOIN busy USING (file_id, k)
LEFT JOIN starved USING (file_id, k)
LEFT JOIN delay USING (file_id, k);
