-- What each host annotation means to us: `role`, and the phase it names where it names one; of the scopes of
-- tracekit's own plugin `plugin_phase`.
--
-- Source: vLLM 0.7-0.33 gpu_model_runner and gpu_worker, SGLang 0.5.11-0.5.23 scheduler and model_runner,
-- tracekit's plugin for vLLM (collectors/engines/vllm_plugin).
--
-- Makes: host_scope.

CREATE TEMP TABLE host_scope AS
WITH span AS (
    SELECT file_id, thread, start_ns, dur_ns, name, false AS is_op
    FROM scope
    WHERE NOT is_device
    UNION ALL
    SELECT file_id, thread, start_ns, dur_ns, name, true
    FROM host_op
    WHERE starts_with(name, 'Torch-Compiled Region')
),
spelled AS (
    SELECT DISTINCT name
    FROM span
),
role AS (
    SELECT
        name,
        CASE
            WHEN regexp_matches(name, '^execute_(new|context|\d+_context)_\d') THEN 'execute'
            WHEN name = 'scheduler.run_batch' THEN 'run_batch'
            WHEN name = 'draft' THEN 'draft'
            WHEN name = 'draft_extend' THEN 'draft_extend'
            WHEN name LIKE 'step[DRAFT%' THEN 'draft_pass'
            WHEN regexp_matches(name, '^step\[\w+') THEN 'target_pass'
            WHEN regexp_matches(name, '^ProfilerStep#\d+$') THEN 'profiler_step'
            WHEN name LIKE '## Call CompiledFxGraph%' OR name LIKE 'Torch-Compiled Region%' THEN 'compiled'
            WHEN name = 'Preprocess' THEN 'old_step'
        END AS role,
        -- 0.10.2-0.11.0 spell the scopes bare, later releases with the runner in front.
        CASE lower(regexp_extract(name, '^(?:gpu_model_runner: )?(\w+)$', 1))
            WHEN 'preprocess' THEN 'prepare'
            WHEN 'forward' THEN 'forward'
            WHEN 'postprocess' THEN 'forward'
            WHEN 'sample' THEN 'sample'
            WHEN 'draft' THEN 'draft'
            WHEN 'bookkeep' THEN 'other'
            WHEN 'eplb' THEN 'other'
            WHEN 'modelrunneroutput' THEN 'other'
            WHEN 'asyncgpumodelrunneroutput' THEN 'other'
            WHEN 'set_async_sampled_token_ids' THEN 'other'
        END AS phase_word,
        CASE name
            WHEN 'tracekit: forward' THEN 'forward'
            WHEN 'tracekit: logits' THEN 'forward'
            WHEN 'tracekit: sample' THEN 'sample'
            WHEN 'tracekit: draft' THEN 'draft'
        END AS plugin_phase
    FROM spelled
)
SELECT
    file_id, thread, start_ns, start_ns + dur_ns AS end_ns, span.name, role,
    is_op, plugin_phase,
    CASE
        WHEN span.name LIKE 'gpu\_model\_runner: %' ESCAPE '\' THEN phase_word
        -- Bare words are vLLM's only where its first scope, Preprocess, is there too.
        WHEN regexp_matches(span.name, '^[A-Z]')
            AND bool_or(role = 'old_step') OVER (PARTITION BY file_id) THEN phase_word
    END AS phase
FROM span
JOIN role USING (name)
-- An empty step may last no time at all in a trace of whole microseconds.
WHERE dur_ns > 0 OR role = 'execute';
