-- One row per launch (a graph replay is one), with what its activities tell about step and phase.
--
-- launch_id: the correlation id; on CPU, and for activities without one, a number below zero.
-- at_ns orders launches: host time where the file has calls, else device time.
--
-- Makes: launch_row, spelled, launch.

CREATE TEMP TABLE launch_row AS
WITH grouped AS (
    SELECT
        file_id, launch_id, any_value(thread) AS thread,
        min(at_ns) AS at_ns, min(start_ns) AS start_ns, arg_min(stream, start_ns) AS stream,
        count(*) AS n, (sum(end_ns - start_ns) FILTER (is_kernel))::BIGINT AS kernel_ns,
        any_value(graph_id) AS graph_id,
        -- Without calls in the trace, several activities of one launch are a graph all the same.
        bool_or(is_graph) OR count(*) > 1 AND bool_and(launch_ns IS NULL) AS is_graph,
        bit_or(traits) AS any_traits, bit_and(traits) AS all_traits
    FROM work
    JOIN signature USING (name_id)
    WHERE at_ns IS NOT NULL
    GROUP BY file_id, launch_id
),
-- One timeline per thread of what is open, so that launches are joined once; '' is nothing open.
opened AS (
    SELECT
        file_id, thread, from_ns, coalesce(value, '') AS phase, NULL AS compiled, NULL AS scope,
        NULL AS plugin
    FROM innermost('phase_scope')
    UNION ALL
    SELECT file_id, thread, from_ns, NULL, coalesce(value, ''), NULL, NULL
    FROM innermost('compiled_scope')
    UNION ALL
    SELECT file_id, thread, from_ns, NULL, NULL, coalesce(value, ''), NULL
    FROM innermost('annotation')
    UNION ALL
    SELECT file_id, thread, from_ns, NULL, NULL, NULL, coalesce(value, '')
    FROM innermost('plugin_scope')
),
segment AS (
    SELECT
        file_id, thread, from_ns,
        nullif(last_value(phase IGNORE NULLS) OVER so_far, '') AS scope_phase,
        nullif(last_value(plugin IGNORE NULLS) OVER so_far, '') AS plugin_phase,
        nullif(last_value(compiled IGNORE NULLS) OVER so_far, '') IS NOT NULL AS is_compiled,
        nullif(last_value(scope IGNORE NULLS) OVER so_far, '') AS scope
    FROM opened
    WINDOW so_far AS (
        PARTITION BY file_id, thread ORDER BY from_ns
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
)
SELECT grouped.*, scope_phase, plugin_phase, coalesce(is_compiled, false) AS is_compiled, scope
FROM grouped
ASOF LEFT JOIN segment
    ON grouped.file_id = segment.file_id AND grouped.thread = segment.thread
    AND grouped.at_ns >= segment.from_ns;

-- Rows of launches with their traits spelled out: narrow in the tables, they cost less to sort and join.
CREATE TEMP MACRO spelled(launches) AS TABLE (
    SELECT
        * EXCLUDE (any_traits, all_traits),
        (any_traits & 1) > 0 AS is_embedding,
        (any_traits & 2) > 0 AS is_norm,
        (any_traits & 4) > 0 AS is_gemm,
        (any_traits & 8) > 0 AS is_collective,
        (all_traits & 16) > 0 AS is_output_copy,
        (all_traits & 32) > 0 AS is_input,
        (any_traits & 64) > 0 AS is_v2_marker,
        (any_traits & 128) > 0 AS is_v2,
        (any_traits & 256) > 0 AS is_v2_sampling,
        (any_traits & 512) > 0 AS is_post_update,
        (any_traits & 1024) > 0 AS is_draft_input,
        (any_traits & 2048) > 0 AS is_rejection,
        is_embedding OR is_norm OR is_gemm AS is_model
    FROM query_table(launches)
);

CREATE TEMP VIEW launch AS FROM spelled('launch_row');
