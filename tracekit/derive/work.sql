-- Activities with their class, their launch, and the moment `at_ns` that decides step and phase.
--
-- at_ns is the start of the launch call; on CPU the op's own start; in a file without any launch
-- call its own start on the device; NULL where the launch is missing from a file that has calls.
--
-- Makes: backend, call, work.

CREATE TEMP TABLE backend AS
SELECT CASE
    WHEN EXISTS (FROM device_event) THEN 'gpu'
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
FROM host_call
WHERE correlation IS NOT NULL
GROUP BY ALL;

CREATE TEMP TABLE work AS
WITH called AS (
    SELECT DISTINCT file_id, true AS has_calls
    FROM host_call
)
SELECT
    id, device_event.file_id, name_id, category_id, kind = 'kernel' AS is_kernel,
    device, stream, start_ns, start_ns + dur_ns AS end_ns,
    coalesce(correlation, -1 - id) AS launch_id,
    thread, launch_ns, CASE WHEN has_calls THEN launch_ns ELSE start_ns END AS at_ns,
    graph_id, coalesce(is_graph, graph_id IS NOT NULL) AS is_graph
FROM device_event
JOIN signature USING (name)
LEFT JOIN collective_category
    ON collective_category.collective = device_event.collective
    AND signature.category = 'collective_other'
JOIN category_code
    ON category_code.category = coalesce(collective_category.category, signature.category)
LEFT JOIN call USING (file_id, correlation)
LEFT JOIN called USING (file_id);
