-- The runs of a database and what each holds.
--
-- Answers: which runs are here, of which engine, how large, and did anything get lost?
-- Grain: one row per run, by name.
-- Params:
--   $run VARCHAR = NULL: only this run.
-- Columns:
--   run VARCHAR: name.
--   engine VARCHAR: vllm, sglang or torch; NULL where nothing tells.
--   engine_version VARCHAR: version of it; NULL where unknown.
--   model VARCHAR: model; NULL where unknown.
--   gpu VARCHAR: device name; NULL on CPU or where the trace has none.
--   backend VARCHAR: gpu or cpu.
--   is_synthetic BOOLEAN: true where the traces were generated.
--   n_ranks BIGINT: ranks with a trace.
--   n_unknown_ranks BIGINT: of them, those whose rank nothing tells.
--   n_engines BIGINT: data-parallel engines with a trace.
--   world_size INTEGER: ranks the engine ran with; NULL where unknown.
--   tensor_parallel INTEGER: tensor-parallel size; NULL where unknown.
--   speculative_method VARCHAR: drafting method; NULL where unknown or off.
--   num_speculative_tokens INTEGER: draft tokens per request and step; NULL like it.
--   n_activities BIGINT: activities over all ranks.
--   n_steps BIGINT: engine steps.
--   n_decode_steps BIGINT: of them, of kind decode.
--   start_ns BIGINT: start of the earliest profiling window; NULL without events.
--   duration_ns BIGINT: from there to the end of the latest.
--   status VARCHAR: complete or failed: how the capture ended; NULL where it was none.
--   error VARCHAR: why it failed; NULL where it did not.
--   n_lost BIGINT: events skipped for a reason other than being of a kind that is not needed.
-- Limits: none.

WITH losses AS (
    SELECT run, sum(skipped)::BIGINT AS n_lost
    FROM ingest_ledger
    WHERE reason IS NOT NULL AND is_loss
    GROUP BY run
),

engines AS (
    SELECT run, count(DISTINCT dp) AS n_engines
    FROM file
    WHERE kind = 'trace'
    GROUP BY run
),

decode AS (
    SELECT run, count(DISTINCT (dp, step)) AS n_decode_steps
    FROM steps
    WHERE kind = 'decode'
    GROUP BY run
)

SELECT
    runs.run,
    engine,
    engine_version,
    model,
    gpu,
    backend,
    is_synthetic,
    n_ranks,
    n_unknown_ranks,
    coalesce(n_engines, 0) AS n_engines,
    world_size,
    tensor_parallel,
    speculative_method,
    num_speculative_tokens,
    n_activities,
    n_steps,
    coalesce(n_decode_steps, 0) AS n_decode_steps,
    start_ns,
    duration_ns,
    status,
    error,
    coalesce(n_lost, 0) AS n_lost
FROM runs
LEFT JOIN losses ON losses.run = runs.run
LEFT JOIN engines ON engines.run = runs.run
LEFT JOIN decode ON decode.run = runs.run
WHERE $run IS NULL OR runs.run = $run
ORDER BY runs.run
