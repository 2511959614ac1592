-- What was captured: engine, model, ranks, size of each run.
--
-- Answers: which runs are in this database?
-- Grain: one row per run.
-- Columns:
--   run VARCHAR: name, unique in the database.
--   engine VARCHAR: vllm, sglang or torch; NULL where nothing tells.
--   engine_version VARCHAR: version of the engine; NULL where unknown.
--   model VARCHAR: model as the server was given it; NULL where unknown.
--   gpu VARCHAR: device name of the lowest rank; NULL on CPU or where the trace has none.
--   n_ranks BIGINT: ranks with a trace, over all data-parallel engines.
--   tensor_parallel INTEGER: tensor-parallel size; NULL where unknown.
--   speculative_method VARCHAR: drafting method as configured; NULL where unknown or off.
--   num_speculative_tokens INTEGER: draft tokens per request and step as configured; NULL like it.
--   n_files BIGINT: files of the run that were recognised.
--   n_activities BIGINT: activities over all ranks.
--   n_steps BIGINT: engine steps; one that several ranks have counts once.
--   start_ns BIGINT: start of the earliest profiling window; NULL without events.
--   duration_ns BIGINT: from there to the end of the latest window.
--   backend VARCHAR: gpu or cpu; unknown without a trace.
--   runner VARCHAR: vLLM model runner, v1 or v2; NULL elsewhere.
--   world_size INTEGER: ranks the engine ran with; NULL where unknown.
--   is_synthetic BOOLEAN: true where the traces were generated.
--   main_kind VARCHAR: decode where it has decode steps, else its commonest kind; NULL without steps.
--   n_unknown_ranks BIGINT: of n_ranks, those whose rank nothing tells (NULL in other views).
--   source VARCHAR: what was ingested, as the user gave it.
--   status VARCHAR: complete or failed: how the capture ended; NULL where it was none.
--   error VARCHAR: why it failed; NULL where it did not.
-- Limits: on hosts whose clocks differ, duration_ns holds the difference too.

WITH files AS (
    SELECT
        run,
        count(*) FILTER (WHERE kind <> 'other') AS n_files,
        count(DISTINCT (dp, rank)) FILTER (WHERE kind = 'trace') AS n_ranks,
        count(DISTINCT dp) FILTER (WHERE kind = 'trace' AND rank IS NULL) AS n_unknown_ranks,
        min(window_start_ns) FILTER (WHERE kind = 'trace') AS start_ns,
        max(window_end_ns) FILTER (WHERE kind = 'trace') AS end_ns
    FROM file
    GROUP BY run
),

activity_counts AS (
    SELECT run, count(*) AS n_activities
    FROM activity
    GROUP BY run
),

kinds AS (
    SELECT run, kind, count(*) FILTER (WHERE dur_ns IS NOT NULL) AS n_measured, count(DISTINCT (dp, step)) AS n_steps
    FROM step
    GROUP BY run, kind
),

step_counts AS (
    SELECT
        run,
        sum(n_steps)::BIGINT AS n_steps,
        first(kind ORDER BY n_measured > 0 DESC, kind = 'decode' DESC, n_measured DESC, kind) AS main_kind
    FROM kinds
    GROUP BY run
)

SELECT
    run.run,
    run.engine,
    run.engine_version,
    run.model,
    run.gpu,
    coalesce(files.n_ranks, 0) AS n_ranks,
    run.tensor_parallel,
    run.speculative_method,
    run.num_speculative_tokens,
    coalesce(files.n_files, 0) AS n_files,
    coalesce(activity_counts.n_activities, 0) AS n_activities,
    coalesce(step_counts.n_steps, 0) AS n_steps,
    files.start_ns,
    files.end_ns - files.start_ns AS duration_ns,
    run.backend,
    run.runner,
    run.world_size,
    run.is_synthetic,
    step_counts.main_kind,
    coalesce(files.n_unknown_ranks, 0) AS n_unknown_ranks,
    run.source,
    run.status,
    run.error
FROM run
LEFT JOIN files ON files.run = run.run
LEFT JOIN activity_counts ON activity_counts.run = run.run
LEFT JOIN step_counts ON step_counts.run = run.run
