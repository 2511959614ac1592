-- Data-parallel dummy batches: whole model passes launched outside execute_..., as steps of their own.
--
-- vLLM runs execute_dummy_batch without an annotation. Such a pass comes after the step's output
-- copy, in a run that drafts nothing (a draft pass would look the same).
--
-- Makes: dummy_begin.

CREATE TEMP TABLE dummy_begin AS
WITH counted AS (
    SELECT regexp_extract(name, '_generation_(\d+)\((?:sq)?(\d+)', ['g', 'gt']) AS counts
    FROM host_scope
    WHERE role = 'execute'
),
run_drafts AS (
    SELECT
        EXISTS (FROM launch WHERE is_draft_input OR is_rejection OR 'draft' IN (scope_phase, plugin_phase))
        OR EXISTS (
            FROM counted
            WHERE try_cast(counts.gt AS BIGINT) > try_cast(counts.g AS BIGINT)
        ) AS drafts
),
executed AS (
    SELECT file_id, start_ns, end_ns, lead(start_ns) OVER (PARTITION BY file_id ORDER BY start_ns) AS next_ns
    FROM host_scope
    WHERE role = 'execute'
),
outside AS (
    SELECT
        led.*, executed.start_ns AS execute_ns,
        count_if(is_output_copy) OVER (
            PARTITION BY led.file_id, executed.start_ns ORDER BY at_ns
        ) AS output_copies
    FROM led
    ASOF JOIN executed ON led.file_id = executed.file_id AND at_ns >= executed.start_ns
    WHERE at_ns >= executed.end_ns
),
-- A pass begins with the inputs that lead to it, right after the output copy, or with a graph that
-- embeds its tokens anew.
passed AS (
    SELECT
        *,
        count(*) FILTER (
            is_model AND (led_from_ns < at_ns OR is_graph AND is_embedding OR is_first)
        ) OVER (PARTITION BY file_id, execute_ns ORDER BY at_ns) AS pass
    FROM (
        SELECT
            *,
            row_number() OVER (PARTITION BY file_id, execute_ns, is_model ORDER BY at_ns) = 1 AS is_first
        FROM outside
        WHERE output_copies > 0
    )
)
SELECT file_id, arg_min(led_from_ns, at_ns) FILTER (is_model) AS begin_ns, true AS is_dummy
FROM passed
JOIN habit USING (file_id)
WHERE habit = 'execute' AND NOT (SELECT drafts FROM run_drafts) AND scope_phase IS NULL AND pass > 0
GROUP BY file_id, execute_ns, pass
-- Whole: something of each kind a model pass has, not a stray kernel after the output copy.
HAVING bool_or(is_gemm) AND bool_or(is_norm OR is_embedding);
