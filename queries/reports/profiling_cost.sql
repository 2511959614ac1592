-- What profiling cost: the same load with the profiler and without.
--
-- Answers: how much slower is a step while it is profiled, and how far can its times be trusted?
-- Grain: one row, or none without a profiled and an unprofiled window that the same source timed.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   source VARCHAR: what timed both: iteration_log (median step), else counters (mean time per token).
--   n_unprofiled_steps BIGINT: decode steps timed without the profiler; NULL of counters, as in the three that follow.
--   n_profiled_steps BIGINT: decode steps timed with it.
--   unprofiled_step_ns DOUBLE: time of a decode step without the profiler.
--   profiled_step_ns DOUBLE: time of a decode step with it.
--   slowdown DOUBLE: profiled / unprofiled: of the step, of counters of the time per token.
--   unprofiled_ns_per_token DOUBLE: what a stream waits for a token without the profiler; NULL without counters.
--   profiled_ns_per_token DOUBLE: what it waits with it; NULL without counters.
--   stop_profile_ns BIGINT: how long the server then took to write its traces; NULL where unknown.
-- Limits: the two windows follow one another: what else changed in between counts as well.

WITH pair AS (
    SELECT plain, profiled
    FROM windows AS plain
    INNER JOIN windows AS profiled ON profiled.run = plain.run
    WHERE plain.run = $run AND NOT plain.is_profiled AND profiled.is_profiled
),

compared AS (
    SELECT
        plain,
        profiled,
        CASE
            WHEN plain.source = 'iteration_log' AND profiled.source = 'iteration_log'
                AND plain.step_ns_p50 > 0 AND profiled.step_ns_p50 > 0 THEN 'iteration_log'
            WHEN plain.ns_per_token > 0 AND profiled.ns_per_token > 0 THEN 'counters'
        END AS source
    FROM pair
)

SELECT
    source,
    CASE WHEN source = 'iteration_log' THEN plain.n_decode_steps END AS n_unprofiled_steps,
    CASE WHEN source = 'iteration_log' THEN profiled.n_decode_steps END AS n_profiled_steps,
    CASE WHEN source = 'iteration_log' THEN plain.step_ns_p50 END AS unprofiled_step_ns,
    CASE WHEN source = 'iteration_log' THEN profiled.step_ns_p50 END AS profiled_step_ns,
    CASE source
        WHEN 'iteration_log' THEN profiled.step_ns_p50 / plain.step_ns_p50
        ELSE profiled.ns_per_token / plain.ns_per_token
    END AS slowdown,
    plain.ns_per_token AS unprofiled_ns_per_token,
    profiled.ns_per_token AS profiled_ns_per_token,
    profiled.stop_profile_ns
FROM compared
WHERE source IS NOT NULL
ORDER BY source = 'iteration_log' DESC, plain.start_ns DESC, profiled.start_ns, plain.window_name, profiled.window_name
LIMIT 1
