-- How fast each run is, and how much of its steps is AllReduce: the headlines of runs side by side.
--
-- Answers: which run is the fastest, and which spends most on communication?
-- Grain: one row per run, by name.
-- Params:
--   $run VARCHAR = NULL: only this run.
-- Columns:
--   run VARCHAR: name.
--   engine VARCHAR: vllm, sglang or torch; NULL where nothing tells.
--   model VARCHAR: model; NULL where unknown.
--   gpu VARCHAR: device name; NULL on CPU or where the trace has none.
--   tensor_parallel INTEGER: tensor-parallel size; NULL where unknown.
--   n_ranks BIGINT: ranks with a trace.
--   speculative_method VARCHAR: drafting method; NULL where unknown or off.
--   kind VARCHAR: kind of the steps that are measured (runs.main_kind); NULL where none is.
--   n_steps BIGINT: steps that are measured.
--   step_p50_ns DOUBLE: median duration of a step, ranks reduced by the mean.
--   ns_per_token DOUBLE: what a stream waits for a token: without the profiler where counters tell (profiling_cost), else
--     of the steps traced (breakdown_headline); NULL where nothing tells.
--   is_unprofiled BOOLEAN: true where ns_per_token is without the profiler; NULL without one.
--   all_reduce_share_of_step DOUBLE: AllReduce (busy) / duration of the steps.
--   n_lost BIGINT: events skipped for a reason other than being of a kind that is not needed.
-- Limits: each row equals breakdown_headline and profiling_cost of its run. Runs of other models or loads are no measure of
--     one another: compare_context tells what differs.

WITH units AS (
    SELECT step_units.*, if(kind = 'decode', expected_tokens, NULL) AS tokens
    FROM step_units
    INNER JOIN runs ON runs.run = step_units.run AND runs.main_kind = step_units.kind
),

figures AS (
    SELECT
        run,
        any_value(kind) AS kind,
        count(*) AS n_steps,
        median(dur_ns) AS step_p50_ns,
        sum(dur_ns) AS dur_ns,
        CASE WHEN count(tokens) = count(*) THEN avg(work_ns) * sum(n_streams) / nullif(sum(tokens), 0) END AS traced_ns
    FROM units
    GROUP BY run
),

-- Ranks first, so that a step with fewer ranks weighs as much as any other.
all_reduce AS (
    SELECT units.run, sum(step_breakdown.busy_ns / n_ranks) AS busy_ns
    FROM step_breakdown
    INNER JOIN units
        ON units.run = step_breakdown.run
        AND units.dp = step_breakdown.dp
        AND units.step = step_breakdown.step
        AND units.kind = step_breakdown.kind
    WHERE category = 'all_reduce'
    GROUP BY units.run
),

quoted AS (
    SELECT DISTINCT plain.run, 'decode' AS kind, plain.ns_per_token AS quoted_ns
    FROM windows AS plain
    INNER JOIN windows AS profiled ON profiled.run = plain.run
    WHERE plain.is_quoted AND profiled.is_profiled AND plain.ns_per_step > 0 AND profiled.ns_per_step > 0
),

losses AS (
    SELECT run, sum(skipped)::BIGINT AS n_lost
    FROM ingest_ledger
    WHERE reason IS NOT NULL AND is_loss
    GROUP BY run
)

SELECT
    runs.run,
    engine,
    model,
    gpu,
    tensor_parallel,
    n_ranks,
    speculative_method,
    figures.kind,
    coalesce(figures.n_steps, 0) AS n_steps,
    step_p50_ns,
    coalesce(quoted_ns, traced_ns) AS ns_per_token,
    CASE WHEN ns_per_token IS NOT NULL THEN quoted_ns IS NOT NULL END AS is_unprofiled,
    coalesce(all_reduce.busy_ns, 0) / dur_ns AS all_reduce_share_of_step,
    coalesce(n_lost, 0) AS n_lost
FROM runs
LEFT JOIN figures ON figures.run = runs.run
LEFT JOIN all_reduce ON all_reduce.run = runs.run
LEFT JOIN quoted ON quoted.run = runs.run AND quoted.kind = figures.kind
LEFT JOIN losses ON losses.run = runs.run
WHERE $run IS NULL OR runs.run = $run
ORDER BY runs.run
