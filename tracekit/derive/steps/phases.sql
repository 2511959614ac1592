-- Kind of each step, and phase of each launch with what decided it.
--
-- Scopes decide where they are, the plugin's before the engine's; the rest goes by the order of launches
-- within the step. The target pass begins at the plugin's first scope of it, else at the first graph replay,
-- model kernel or compiled region; where it ends, the plugin tells, else the runner: vLLM V1 by its execute_
-- span, V2 by its first sampling kernel.
--
-- Makes: step_fact, speculation, pass_end, launch_phase.

CREATE TEMP TABLE step_fact AS
WITH launched AS (
    SELECT
        file_id, k,
        min(at_ns) FILTER (
            (is_graph OR is_model OR is_compiled) AND scope_phase IS DISTINCT FROM 'prepare'
        ) AS pass_ns,
        min(at_ns) FILTER (is_v2_sampling AND NOT is_graph) AS sampling_ns,
        max(at_ns) FILTER (is_post_update) AS post_update_ns,
        min(at_ns) FILTER (scope_phase = 'pass' AND (is_graph OR is_model)) AS scoped_pass_ns,
        min(at_ns) FILTER (replay.launch_id IS NOT NULL) AS replay_ns,
        bool_or(is_rejection) AS has_rejection
    FROM placed
    LEFT JOIN replay USING (file_id, launch_id)
    GROUP BY ALL
),
passed AS (
    SELECT
        host_step.file_id, k,
        min(start_ns) FILTER (value = 'pass') AS target_start_ns,
        max(sglang_pass.end_ns) FILTER (value = 'pass') AS target_scope_end_ns,
        min(start_ns) FILTER (value = 'draft') AS draft_start_ns,
        min(start_ns) FILTER (role = 'draft_extend') AS extend_start_ns
    FROM sglang_pass
    ASOF JOIN host_step ON sglang_pass.file_id = host_step.file_id AND start_ns >= begin_ns
    GROUP BY ALL
),
batch AS (
    SELECT host_step.file_id, k, max(host_scope.end_ns) AS batch_end_ns
    FROM host_scope
    JOIN habit ON habit.file_id = host_scope.file_id
    ASOF JOIN host_step ON host_scope.file_id = host_step.file_id AND start_ns >= begin_ns
    WHERE role = CASE WHEN habit = 'run_batch' THEN 'run_batch' ELSE 'execute' END
    GROUP BY ALL
),
wrapped AS (
    SELECT
        host_step.file_id, k,
        min(start_ns) AS plugin_start_ns,
        min(start_ns) FILTER (plugin_phase = 'forward') AS plugin_pass_ns,
        max(host_scope.end_ns) FILTER (plugin_phase = 'forward') AS plugin_pass_end_ns
    FROM host_scope
    ASOF JOIN host_step ON host_scope.file_id = host_step.file_id AND start_ns >= begin_ns
    WHERE plugin_phase IS NOT NULL
    GROUP BY ALL
)
SELECT
    host_step.*, launched.* EXCLUDE (file_id, k), passed.* EXCLUDE (file_id, k), batch_end_ns,
    wrapped.* EXCLUDE (file_id, k),
    CASE
        WHEN n_decode_tokens IS NOT NULL THEN n_decode_tokens > n_decode_reqs
        ELSE coalesce(has_verify_span, false) OR coalesce(has_rejection, false)
    END AS is_verify
FROM host_step
LEFT JOIN launched USING (file_id, k)
LEFT JOIN passed USING (file_id, k)
LEFT JOIN batch USING (file_id, k)
LEFT JOIN wrapped USING (file_id, k);

CREATE TEMP TABLE speculation AS
SELECT coalesce(bool_or(is_verify), false) AS is_speculative
FROM step_fact;

CREATE TEMP TABLE pass_end AS
SELECT
    file_id, k,
    max(at_ns) FILTER (
        (is_graph OR is_gemm OR is_collective OR is_model AND NOT has_v2)
        AND (sampling_ns IS NULL OR NOT has_v2 OR at_ns < sampling_ns)
        AND (has_v2 OR step_fact.execute_end_ns IS NULL OR at_ns < step_fact.execute_end_ns)
    ) AS target_end_ns,
    min(at_ns) FILTER (
        at_ns >= step_fact.execute_end_ns
        AND (is_draft_input OR (is_speculative AND (is_graph OR is_model)))
    ) AS drafting_ns
FROM placed
JOIN step_fact USING (file_id, k)
JOIN habit USING (file_id)
CROSS JOIN speculation
GROUP BY file_id, k;

CREATE TEMP TABLE launch_phase AS
WITH told AS (
    SELECT
        placed.*, step_fact.* EXCLUDE (file_id, k, begin_ns, execute_end_ns, is_dummy),
        pass_end.* EXCLUDE (file_id, k), habit, has_v2, is_speculative,
        target_start_ns IS NOT NULL OR draft_start_ns IS NOT NULL AS is_sglang,
        -- What follows the span is all sampling, unless the run drafts: then kernels tell the end of it.
        CASE WHEN bool_or(is_verify OR drafting_ns IS NOT NULL) OVER ()
            THEN 'kernels' ELSE 'span'
        END AS after_source
    FROM placed
    JOIN step_fact USING (file_id, k)
    JOIN pass_end USING (file_id, k)
    JOIN habit USING (file_id)
    CROSS JOIN speculation
),
decided AS (
    SELECT
        file_id, launch_id, k, is_verify,
        CASE
            WHEN plugin_phase IS NOT NULL THEN {'phase': plugin_phase, 'source': 'plugin'}
            WHEN is_dummy THEN {'phase': 'forward', 'source': 'kernels'}
            WHEN scope_phase = 'pass' AND at_ns < scoped_pass_ns
                THEN {'phase': 'prepare', 'source': 'engine'}
            WHEN scope_phase = 'pass' THEN {'phase': 'forward', 'source': 'engine'}
            WHEN scope_phase IS NOT NULL THEN {'phase': scope_phase, 'source': 'engine'}
            -- Beside the plugin's scopes alone. V2 updates the accepted tokens after `sample` returns.
            WHEN at_ns < plugin_pass_ns THEN {'phase': 'prepare', 'source': 'span'}
            WHEN at_ns >= plugin_pass_end_ns AND is_output_copy
                THEN {'phase': 'other', 'source': 'span'}
            WHEN has_v2 AND at_ns >= coalesce(plugin_pass_end_ns, plugin_start_ns)
                AND at_ns <= post_update_ns
                THEN {'phase': 'sample', 'source': 'kernels'}
            WHEN at_ns >= plugin_pass_ns AND at_ns < execute_end_ns
                THEN {'phase': 'forward', 'source': 'span'}
            WHEN at_ns >= plugin_start_ns THEN {'phase': 'other', 'source': 'span'}
            WHEN is_sglang AND at_ns < batch_end_ns AND at_ns < least(target_start_ns, draft_start_ns)
                THEN {'phase': 'prepare', 'source': 'engine'}
            WHEN is_sglang AND is_output_copy AND at_ns >= target_scope_end_ns
                THEN {
                    'phase': 'other',
                    'source': CASE WHEN at_ns < batch_end_ns THEN 'engine' ELSE 'kernels' END
                }
            WHEN is_sglang AND at_ns < batch_end_ns AND at_ns >= target_scope_end_ns
                AND (extend_start_ns IS NULL OR at_ns < extend_start_ns)
                THEN {'phase': 'sample', 'source': 'engine'}
            WHEN is_sglang AND at_ns < batch_end_ns THEN {'phase': 'other', 'source': 'engine'}
            WHEN is_sglang OR habit = 'profiler_step' THEN {'phase': 'other', 'source': 'none'}
            WHEN habit = 'graph' AND replay_ns IS NULL THEN {'phase': 'other', 'source': 'none'}
            WHEN habit = 'graph' AND at_ns < replay_ns THEN {'phase': 'prepare', 'source': 'graph'}
            WHEN habit = 'graph' AND at_ns = replay_ns THEN {'phase': 'forward', 'source': 'graph'}
            WHEN is_output_copy AND at_ns > target_end_ns
                THEN {'phase': 'other', 'source': 'kernels'}
            WHEN pass_ns IS NULL OR at_ns < pass_ns
                THEN {'phase': 'prepare', 'source': CASE WHEN has_v2 THEN 'kernels' ELSE 'span' END}
            WHEN has_v2 AND at_ns <= target_end_ns
                THEN {'phase': 'forward', 'source': 'kernels'}
            WHEN has_v2 AND at_ns <= coalesce(post_update_ns, at_ns)
                THEN {'phase': 'sample', 'source': 'kernels'}
            WHEN has_v2 AND is_speculative THEN {'phase': 'draft', 'source': 'kernels'}
            WHEN has_v2 THEN {'phase': 'other', 'source': 'kernels'}
            WHEN at_ns < execute_end_ns THEN {'phase': 'forward', 'source': 'span'}
            WHEN at_ns >= drafting_ns THEN {'phase': 'draft', 'source': 'kernels'}
            WHEN at_ns >= execute_end_ns THEN {'phase': 'sample', 'source': after_source}
            ELSE {'phase': 'other', 'source': 'none'}
        END AS decision
    FROM told
)
SELECT
    file_id, launch_id, k,
    CASE WHEN decision.phase = 'forward' AND is_verify THEN 'verify' ELSE decision.phase END AS phase,
    decision.source AS phase_source
FROM decided;
