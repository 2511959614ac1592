-- What two runs were: where they are the same, where they differ, and whether that lets them be compared.
--
-- Answers: is the difference of two runs that of the setting in question alone?
-- Grain: one row per fact, those that forbid a comparison first.
-- Params:
--   $base VARCHAR[]: run to compare with, or several: repeats of one setting.
--   $other VARCHAR[]: run that is compared, or several.
-- Columns:
--   fact VARCHAR: model, tensor parallel, GPU, ...
--   base VARCHAR: value in the base, several where its runs differ; NULL where unknown.
--   other VARCHAR: value in the other, likewise.
--   verdict VARCHAR: same, differs or unknown (on a side).
--   effect VARCHAR: what a difference does: refused, warned, or noted: it may be the setting in question.
--   is_mixed BOOLEAN: true where runs of one side differ in it: they are no repeats of one setting.
-- Limits: of a model's path the last part counts; hidden size, layers and experts are those of its config.json, where there is one.
--     What a run does not tell (driver, clocks, prompts) is not compared. Where no setting tells the drafter, speculative
--     decoding is what was measured: off where decode steps check no draft; two runs with drafts of unknown drafters are not the same.

WITH traces AS (
    SELECT
        run,
        count(DISTINCT dp) AS n_engines,
        any_value(metadata ->> '$.cuda_runtime_version') AS cuda,
        coalesce(nullif(concat_ws(
            ', ',
            if(bool_or((metadata ->> '$.record_shapes') = '1'), 'shapes', NULL),
            if(bool_or((metadata ->> '$.with_stack') = '1'), 'stacks', NULL),
            if(bool_or((metadata ->> '$.profile_memory') = '1'), 'memory', NULL),
            if(bool_or((metadata ->> '$.with_flops') = '1'), 'flops', NULL),
            if(bool_or((metadata ->> '$.with_modules') = '1'), 'modules', NULL)
        ), ''), 'none') AS profiler
    FROM file
    WHERE kind = 'trace' AND metadata IS NOT NULL
    GROUP BY run
),

loads AS (
    SELECT run, string_agg(DISTINCT concurrency::VARCHAR, ', ' ORDER BY concurrency::VARCHAR) AS concurrency
    FROM windows
    WHERE is_profiled
    GROUP BY run
),

counted AS (
    SELECT run, count(position) AS n_positions
    FROM spec_decode
    WHERE list_contains(list_concat($base, $other), run)
    GROUP BY run
),

checked AS (
    SELECT
        run,
        bool_or(is_verify) FILTER (WHERE kind IN ('decode', 'mixed')) AS checks_drafts,
        max(ceil(n_draft_tokens / nullif(n_decode_reqs, 0))) FILTER (WHERE is_verify)::BIGINT AS n_checked
    FROM steps
    WHERE list_contains(list_concat($base, $other), run)
    GROUP BY run
),

drafting AS (
    SELECT
        run,
        coalesce(speculative_method, if(n_positions IS NOT NULL OR checks_drafts, 'drafts', NULL)) AS drafter,
        CASE
            WHEN drafter IS NOT NULL THEN coalesce(num_speculative_tokens, nullif(n_positions, 0), n_checked)
            WHEN NOT checks_drafts THEN 0
        END AS k,
        if(k = 0, 'off', nullif(concat_ws(', K=', drafter, k), '')) AS drafts,
        coalesce(drafter = 'drafts', false) AS has_unknown_drafter
    FROM runs
    LEFT JOIN counted USING (run)
    LEFT JOIN checked USING (run)
),

facts AS (
    SELECT
        list_contains($base, runs.run) AS is_base,
        k,
        has_unknown_drafter,
        unnest([
            {'place': 1, 'fact': 'model', 'effect': 'refused', 'value': regexp_extract(rtrim(model, '/'), '([^/]+)$', 1)},
            {'place': 2, 'fact': 'tensor parallel', 'effect': 'refused', 'value': tensor_parallel::VARCHAR},
            {'place': 3, 'fact': 'GPU', 'effect': 'refused', 'value': if(backend = 'cpu', 'CPU', gpu)},
            {'place': 4, 'fact': 'hidden size', 'effect': 'warned', 'value': hidden_size::VARCHAR},
            {'place': 5, 'fact': 'layers', 'effect': 'warned', 'value': layers::VARCHAR},
            {'place': 6, 'fact': 'experts', 'effect': 'warned', 'value': experts::VARCHAR},
            {'place': 7, 'fact': 'data parallel', 'effect': 'warned', 'value': n_engines::VARCHAR},
            {'place': 8, 'fact': 'ranks traced', 'effect': 'warned', 'value': n_ranks::VARCHAR},
            {'place': 9, 'fact': 'engine', 'effect': 'warned', 'value': engine},
            {'place': 10, 'fact': 'engine version', 'effect': 'warned', 'value': engine_version},
            {'place': 11, 'fact': 'CUDA', 'effect': 'warned', 'value': cuda},
            {'place': 12, 'fact': 'profiler options', 'effect': 'warned', 'value': profiler},
            {'place': 13, 'fact': 'concurrency', 'effect': 'warned', 'value': concurrency},
            {'place': 14, 'fact': 'traces', 'effect': 'warned', 'value': if(is_synthetic, 'synthetic', 'recorded')},
            {'place': 15, 'fact': 'model runner', 'effect': 'noted', 'value': runner},
            {'place': 16, 'fact': 'speculative decoding', 'effect': 'noted', 'value': drafts}
        ], recursive := true)
    FROM runs
    INNER JOIN drafting USING (run)
    LEFT JOIN traces USING (run)
    LEFT JOIN loads USING (run)
    LEFT JOIN model_configs(list_concat($base, $other)) USING (run)
    WHERE list_contains($base, runs.run) OR list_contains($other, runs.run)
),

sides AS (
    SELECT
        place, fact, any_value(effect) AS effect,
        string_agg(DISTINCT value, ' and ' ORDER BY value) FILTER (WHERE is_base) AS base,
        string_agg(DISTINCT value, ' and ' ORDER BY value) FILTER (WHERE NOT is_base) AS other,
        greatest(count(DISTINCT value) FILTER (WHERE is_base), count(DISTINCT value) FILTER (WHERE NOT is_base)) > 1 AS is_mixed,
        fact = 'speculative decoding' AND bool_or(has_unknown_drafter) AS is_vague,
        if(is_vague, count(DISTINCT k), count(DISTINCT value)) AS n_values,
        count(value) = count(*) AND NOT is_vague AS is_known
    FROM facts
    GROUP BY place, fact
)

SELECT
    fact,
    base,
    other,
    CASE WHEN n_values > 1 THEN 'differs' WHEN is_known THEN 'same' ELSE 'unknown' END AS verdict,
    effect,
    is_mixed
FROM sides
WHERE base IS NOT NULL OR other IS NOT NULL OR effect = 'refused' OR fact = 'speculative decoding'
ORDER BY place
