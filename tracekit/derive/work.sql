-- Activities with their class, their launch, and the moment `at_ns` that decides step and phase.
--
-- at_ns is the start of the launch call; on CPU the op's own start; in a file without any launch
-- call its own start on the device; NULL where the launch is missing from a file that has calls.

CREATE TEMP TABLE backend AS
SELECT CASE
    WHEN EXISTS (FROM event WHERE kind IN ('kernel', 'memcpy', 'memset')) THEN 'gpu'
    WHEN EXISTS (
        FROM file
        WHERE kind = 'trace' AND coalesce(json_array_length(metadata, '$.deviceProperties'), 0) > 0
    ) THEN 'gpu'
    ELSE 'cpu'
END AS backend;

CREATE TEMP TABLE call AS
SELECT
    file_id, correlation,
    min(start_ns) AS launch_ns,
    arg_min(thread, start_ns) AS thread,
    bool_or(contains(name, 'GraphLaunch')) AS is_graph
FROM event
WHERE kind = 'call' AND correlation IS NOT NULL
GROUP BY ALL;

CREATE TEMP TABLE work AS
WITH called AS (
    SELECT DISTINCT file_id, true AS has_calls
    FROM event
    WHERE kind = 'call'
),
external AS (
    SELECT DISTINCT external_id
    FROM event
    WHERE kind IN ('kernel', 'memcpy', 'memset') AND external_id IS NOT NULL
),
ops AS (
    SELECT file_id, external_id, any_value(name) AS op
    FROM event
    WHERE kind = 'op' AND external_id IN (FROM external)
    GROUP BY ALL
)
SELECT
    event.file_id, 'gpu' AS device_kind, event.kind::VARCHAR AS activity_kind,
    event.device, event.stream, event.start_ns, event.start_ns + event.dur_ns AS end_ns, event.name,
    CASE WHEN signature.category = 'collective_other'
        THEN coalesce(collective_category.category, signature.category) ELSE signature.category
    END AS category,
    signature.impl, op, call.thread, launch_ns,
    CASE WHEN has_calls THEN launch_ns ELSE event.start_ns END AS at_ns,
    correlation, coalesce(call.is_graph, false) AS is_graph,
    -- CUPTI 13.2 writes graph id 0 on everything launched outside graphs.
    nullif(graph_id, 0) AS graph_id,
    CASE WHEN graph_id != 0 THEN graph_node_id END AS graph_node_id,
    grid, block, bytes
FROM event
JOIN signature USING (name)
LEFT JOIN collective_category USING (collective)
LEFT JOIN call USING (file_id, correlation)
LEFT JOIN called USING (file_id)
LEFT JOIN ops USING (file_id, external_id)
WHERE event.kind IN ('kernel', 'memcpy', 'memset');
