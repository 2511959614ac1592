-- What profiling cost: the same load with the profiler and without.
--
-- Answers: how much slower is a step while it is profiled, and how far can its times be trusted?
-- Grain: one row, or none without a profiled and an unprofiled window that the same source timed.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   source VARCHAR: what timed both: counters (mean, the time between steps included), else iteration_log (median of the
--     engine's own elapsed time, without it).
--   unprofiled_step_ns DOUBLE: time of a decode step without the profiler.
--   profiled_step_ns DOUBLE: time of a decode step with it; of the trace, where counters tell and the profiler ended before
--     the load: what they count then holds steps without it, and the writing of traces.
--   slowdown DOUBLE: profiled / unprofiled.
--   unprofiled_elapsed_ns DOUBLE: the engine's own elapsed time of it without the profiler: median of the log; NULL where
--     not both windows have one, as in the three that follow.
--   profiled_elapsed_ns DOUBLE: the same with it.
--   n_unprofiled_steps BIGINT: decode steps logged without the profiler.
--   n_profiled_steps BIGINT: decode steps logged with it.
--   unprofiled_tokens_per_step DOUBLE: tokens a stream got of a step without the profiler; NULL without counters, as in the
--     three that follow.
--   profiled_tokens_per_step DOUBLE: the same with it.
--   unprofiled_ns_per_token DOUBLE: what a stream waits for a token without the profiler.
--   profiled_ns_per_token DOUBLE: what it waits with it.
--   profiled_share DOUBLE: decode steps in the trace / those of the profiled window, by the log: under 1 where the
--     profiler ended before the load; NULL where unknown.
--   stop_profile_ns BIGINT: how long the server then took to write its traces; NULL where unknown.
-- Limits: of several windows without it, the one that windows.is_quoted names. Windows follow one another: what else changed in between counts as well.

WITH pair AS (
    SELECT
        plain,
        profiled,
        coalesce(plain.source = 'iteration_log' AND profiled.source = 'iteration_log'
            AND plain.step_ns_p50 > 0 AND profiled.step_ns_p50 > 0, false) AS is_logged,
        coalesce(plain.ns_per_step > 0 AND profiled.ns_per_step > 0, false) AS is_counted
    FROM windows AS plain
    INNER JOIN windows AS profiled ON profiled.run = plain.run
    WHERE plain.run = $run AND plain.is_quoted AND profiled.is_profiled
),

compared AS (
    SELECT
        *,
        if(is_counted, plain.ns_per_step, plain.step_ns_p50) AS unprofiled_step_ns,
        if(is_counted, plain.ns_per_step / plain.trace_factor, profiled.step_ns_p50) AS profiled_step_ns
    FROM pair
    WHERE is_counted OR is_logged
),

traced AS (
    SELECT count(DISTINCT (dp, step)) AS n_steps
    FROM steps
    WHERE run = $run AND kind = 'decode'
)

SELECT
    if(is_counted, 'counters', 'iteration_log') AS source,
    unprofiled_step_ns,
    profiled_step_ns,
    profiled_step_ns / unprofiled_step_ns AS slowdown,
    if(is_logged, plain.step_ns_p50, NULL) AS unprofiled_elapsed_ns,
    if(is_logged, profiled.step_ns_p50, NULL) AS profiled_elapsed_ns,
    if(is_logged, plain.n_decode_steps, NULL) AS n_unprofiled_steps,
    if(is_logged, profiled.n_decode_steps, NULL) AS n_profiled_steps,
    if(is_counted, plain.tokens_per_step, NULL) AS unprofiled_tokens_per_step,
    if(is_counted, profiled.tokens_per_step, NULL) AS profiled_tokens_per_step,
    if(is_counted, plain.ns_per_token, NULL) AS unprofiled_ns_per_token,
    if(is_counted, profiled.ns_per_token, NULL) AS profiled_ns_per_token,
    nullif(traced.n_steps, 0) / nullif(profiled.n_decode_steps, 0) AS profiled_share,
    profiled.stop_profile_ns
FROM compared
CROSS JOIN traced
ORDER BY is_counted DESC, profiled.start_ns, profiled.window_name
LIMIT 1
