-- Host steps: from what begins a step to what begins the next.
--
-- A file's own scopes come first (run_batch, execute_..., SGLang passes, Preprocess, ProfilerStep);
-- a file with none is cut before the V2 step marker, else before each replay of its largest
-- repeating graph, else not at all. at_ns is host time, or device time in files without calls.
--
-- Makes: habit, led, replay, step_begin.

CREATE TEMP TABLE habit AS
WITH scoped AS (
    SELECT
        file_id,
        CASE
            WHEN bool_or(role = 'run_batch') THEN 'run_batch'
            WHEN bool_or(role = 'execute') THEN 'execute'
            WHEN bool_or(role IN ('target_pass', 'draft_pass')) THEN 'pass'
            WHEN bool_or(role = 'old_step') THEN 'old_step'
            WHEN bool_or(role = 'profiler_step') THEN 'profiler_step'
        END AS habit
    FROM host_scope
    GROUP BY file_id
),
launched AS (
    SELECT file_id, bool_or(is_v2_marker) AS is_marked, bool_or(is_v2) AS is_v2
    FROM launch
    GROUP BY file_id
)
SELECT
    file_id,
    coalesce(habit, CASE WHEN is_marked THEN 'v2_marker' ELSE 'graph' END) AS habit,
    coalesce(is_v2, false) AS has_v2,
    -- Other ranks of the run are annotated and this engine is not at all: it had no request.
    bool_or(habit = 'execute') OVER () AND bool_and(habit IS NULL) OVER (PARTITION BY dp) AS is_dummy
FROM launched
FULL JOIN scoped USING (file_id)
JOIN file USING (file_id);

-- Launches with the start of the unbroken run of input copies and preparation that leads to each.
CREATE TEMP TABLE led AS
WITH main AS (
    SELECT DISTINCT ON (file_id) file_id, stream
    FROM launch
    GROUP BY file_id, stream
    ORDER BY file_id, sum(kernel_ns) DESC NULLS LAST, stream
),
behind AS (
    SELECT
        launch.*,
        lag(is_input, 1, false) OVER (
            PARTITION BY launch.file_id ORDER BY at_ns, start_ns
        ) AS is_behind_input
    FROM launch
    JOIN habit USING (file_id)
    JOIN main USING (file_id)
    -- Only these look for what leads to a launch: a marker, a replay, a dummy batch (dummy.sql).
    WHERE habit IN ('v2_marker', 'graph', 'execute')
    -- Without calls there is no launch order over streams: only the main stream leads.
        AND (thread IS NOT NULL OR launch.stream IS NOT DISTINCT FROM main.stream)
)
SELECT
    * EXCLUDE (is_behind_input),
    -- Where the latest run began: times only grow. A partition for each run would take thrice as long.
    max(at_ns) FILTER (NOT is_behind_input) OVER (
        PARTITION BY file_id ORDER BY at_ns, start_ns ROWS UNBOUNDED PRECEDING
    ) AS led_from_ns
FROM behind;

-- Replays of the largest graph that repeats; without graph ids its kernels' names tell it apart.
CREATE TEMP TABLE replay AS
WITH shaped AS (
    SELECT
        launch.file_id, launch.launch_id, launch.n,
        coalesce(launch.graph_id::HUGEINT, sum(hash(name_id)::HUGEINT)) AS shape
    FROM launch
    JOIN habit ON habit.file_id = launch.file_id AND habit = 'graph'
    JOIN work ON (work.file_id, work.launch_id) = (launch.file_id, launch.launch_id)
    WHERE launch.is_graph
    GROUP BY launch.file_id, launch.launch_id, launch.n, launch.graph_id
),
repeated AS (
    SELECT file_id, shape, n
    FROM shaped
    GROUP BY ALL
    HAVING count(*) > 1
),
largest AS (
    SELECT DISTINCT ON (file_id) file_id, shape
    FROM repeated
    ORDER BY file_id, n DESC, shape
)
SELECT file_id, launch_id
FROM shaped
JOIN largest USING (file_id, shape);

CREATE TEMP TABLE step_begin AS
WITH pass AS (
    SELECT
        *,
        count(*) FILTER (value = 'pass') OVER (
            PARTITION BY file_id ORDER BY start_ns, end_ns DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS targets_before
    FROM sglang_pass
    WHERE NOT is_inner AND role != 'draft_extend' AND NOT starts_with(name, 'step[DRAFT_EXTEND')
),
first_launch AS (
    SELECT file_id, min(at_ns) AS at_ns
    FROM launch
    GROUP BY file_id
)
SELECT file_id, start_ns AS begin_ns, false AS is_dummy
FROM host_scope
JOIN habit USING (file_id)
WHERE role = habit
UNION ALL
SELECT file_id, min(start_ns), false
FROM pass
JOIN habit USING (file_id)
WHERE habit = 'pass'
GROUP BY file_id, targets_before
UNION ALL
SELECT file_id, led_from_ns, is_dummy
FROM led
JOIN habit USING (file_id)
WHERE (habit = 'v2_marker' AND is_v2_marker)
    OR (habit = 'graph' AND launch_id IN (SELECT launch_id FROM replay WHERE replay.file_id = led.file_id))
UNION ALL
SELECT file_id, at_ns, is_dummy
FROM first_launch
JOIN habit USING (file_id)
WHERE habit = 'graph' AND file_id NOT IN (SELECT file_id FROM replay);
