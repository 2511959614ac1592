-- Activities with their class, their launch, and the moment `at_ns` that decides step and phase.
--
-- at_ns is the start of the launch call; on CPU the op's own start; in a file without any launch
-- call its own start on the device; NULL where the launch is missing from a file that has calls.
--
-- Makes: backend, call, work, ambiguous, ledger.

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
    bool_or(contains(name, 'GraphLaunch')) AS is_graph,
    count(*) AS calls
FROM host_call
WHERE correlation != 0      -- 0 is no id
GROUP BY ALL;

CREATE TEMP TABLE work AS
WITH called AS (
    SELECT DISTINCT file_id, true AS has_calls
    FROM host_call
)
SELECT
    id, device_event.file_id, name_id, category_id, kind = 'kernel' AS is_kernel,
    device, stream, start_ns, start_ns + dur_ns AS end_ns,
    coalesce(nullif(correlation, 0), -1 - id) AS launch_id,
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

-- Where several calls have an id, an activity is of the latest one before it; each call is a launch.
CREATE TEMP TABLE ambiguous AS
WITH several AS (
    SELECT host_call.rowid AS call_id, host_call.*
    FROM host_call
    SEMI JOIN (FROM call WHERE calls > 1) AS repeated USING (file_id, correlation)
)
SELECT
    work.id, work.file_id, work.name_id,
    several.start_ns AS launch_ns, several.thread,
    contains(several.name, 'GraphLaunch') AS is_graph,
    -1_000_000_000_000 - coalesce(call_id, work.id) AS launch_id
FROM work
ASOF LEFT JOIN several
    ON work.file_id = several.file_id AND work.launch_id = several.correlation
    AND work.start_ns >= several.start_ns
WHERE EXISTS (
    FROM call
    WHERE call.file_id = work.file_id AND call.correlation = work.launch_id AND calls > 1
);

UPDATE work SET
    launch_ns = ambiguous.launch_ns, at_ns = ambiguous.launch_ns, thread = ambiguous.thread,
    is_graph = coalesce(ambiguous.is_graph, false) OR work.graph_id IS NOT NULL,
    launch_id = ambiguous.launch_id
FROM ambiguous
WHERE work.id = ambiguous.id;

INSERT INTO ledger
SELECT
    $run, file_id, 'correlation id of several calls (kept, with the latest before it)', NULL, NULL, 0,
    count(*) || ' activities, such as ' || any_value(name), true
FROM ambiguous
JOIN signature USING (name_id)
GROUP BY file_id;
