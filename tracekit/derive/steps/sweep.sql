-- One sweep over the edges of all pieces: what runs, group by group, until the next edge.
--
-- Running sums tell it: while one group runs alone the sum of signed codes is its code. Groups of
-- one category may overlap where steps do; all that runs has one category where the mean of the
-- squares is the square of the mean. Windows join in as edges, so no stretch leaves its window: within
-- one the sum of k + 1 is its own.
--
-- Makes: piece, swept, step_time.

-- The part of each activity that its group has not covered before: pieces of a group never overlap.
-- A group is a step's phase and category, as one number: k, 8 phases, 64 categories.
CREATE TEMP TABLE piece AS
WITH grouped AS (
    SELECT
        file_id, k, start_ns, end_ns, launch_ns, category_id,
        ((coalesce(k, -1) + 1) * 8 + enum_code(phase)) * 64 + category_id AS code
    FROM attributed
),
reached AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY file_id, code ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM grouped
)
SELECT
    file_id, k, code, category_id, end_ns - start_ns AS dur_ns, launch_ns,
    -- How many run, their categories and the squares of these in one sum, for up to 16,383 at a time.
    1 + (category_id << 14) + (category_id * category_id << 34) AS weight,
    greatest(start_ns, coalesce(reached_ns, start_ns)) AS start_ns,
    greatest(end_ns, coalesce(reached_ns, end_ns)) AS end_ns
FROM reached;

CREATE TEMP TABLE swept AS
WITH edge AS (
    SELECT file_id, start_ns AS at_ns, code, weight, launch_ns, 0 AS window_code
    FROM piece
    WHERE end_ns > start_ns
    UNION ALL
    SELECT file_id, end_ns, -code, -weight, NULL, 0
    FROM piece
    WHERE end_ns > start_ns
    UNION ALL
    SELECT file_id, start_ns, 0, 0, NULL, k + 1 FROM step_window
    UNION ALL
    SELECT file_id, stop_ns, 0, 0, NULL, -(k + 1) FROM step_window
),
summed AS (
    SELECT
        file_id, at_ns AS start_ns,
        lead(at_ns) OVER in_time AS end_ns,
        lead(launch_ns) OVER in_time AS next_launch_ns,
        (sum(window_code) OVER so_far - 1)::BIGINT AS k,
        -- Narrow: sums over the HUGEINT that sum() gives take a third longer to write.
        (sum(code) OVER so_far)::BIGINT AS code,
        (sum(weight) OVER so_far)::BIGINT AS weight
    FROM edge
    WINDOW
        -- The earliest launch of those that start at one time stands before the rest.
        in_time AS (PARTITION BY file_id ORDER BY at_ns, launch_ns),
        so_far AS (in_time ROWS UNBOUNDED PRECEDING)
)
SELECT
    * EXCLUDE (weight, category, square), running * square = category * category AS is_one_category
FROM (
    SELECT
        *, weight & 16_383 AS running, (weight >> 14) & 1_048_575 AS category, weight >> 34 AS square
    FROM summed
    WHERE end_ns > start_ns
);

-- Busy time of the windows, waiting for work, and the part of the other gaps in which nothing was
-- queued: before the activity that ends the gap was launched (none, where its launch is unknown).
CREATE TEMP TABLE step_time AS
WITH stretch AS (
    SELECT
        file_id, k, running > 0 AS is_busy,
        coalesce(swept.start_ns >= wait_from_ns AND swept.start_ns < wait_until_ns, false) AS is_wait,
        end_ns - swept.start_ns AS dur_ns,
        greatest(0, least(next_launch_ns, end_ns) - swept.start_ns) AS unqueued_ns, next_launch_ns
    FROM swept
    JOIN step_window USING (file_id, k)
),
spent AS (
    SELECT
        file_id, k,
        coalesce(sum(dur_ns) FILTER (is_busy), 0)::BIGINT AS busy_ns,
        coalesce(sum(dur_ns) FILTER (NOT is_busy AND is_wait), 0)::BIGINT AS wait_ns,
        coalesce(sum(unqueued_ns) FILTER (
            NOT is_busy AND NOT is_wait AND next_launch_ns IS NOT NULL
        ), 0)::BIGINT AS starved_ns
    FROM stretch
    GROUP BY ALL
),
delay AS (
    SELECT file_id, k, median(delay_ns)::BIGINT AS launch_delay_ns
    FROM (
        SELECT file_id, k, launch_id, min(start_ns) - min(launch_ns) AS delay_ns
        FROM attributed
        WHERE launch_ns IS NOT NULL AND k IS NOT NULL
        GROUP BY file_id, k, launch_id
        -- Clocks that disagree can put a start before its launch; the ledger counts those.
        HAVING delay_ns >= 0
    )
    GROUP BY ALL
)
SELECT
    step_window.*, coalesce(busy_ns, 0) AS busy_ns, coalesce(wait_ns, 0) AS wait_ns, launch_delay_ns,
    CASE WHEN launch_delay_ns IS NOT NULL THEN starved_ns END AS starved_ns
FROM step_window
LEFT JOIN spent USING (file_id, k)
LEFT JOIN delay USING (file_id, k);

