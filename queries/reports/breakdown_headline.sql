-- The headline figures of a breakdown: how long a step takes, what is measured, what is not known.
--
-- Answers: how fast is decode, and how far can the breakdown be trusted?
-- Grain: one row, or none where the run has no such step.
-- Params:
--   $run VARCHAR: run to read.
--   $kind VARCHAR = NULL: one of prefill, decode, mixed, idle, unknown; NULL as in breakdown.
--   $rank INTEGER = NULL: as in breakdown.
--   $dp INTEGER = NULL: as in breakdown.
--   $step INTEGER = NULL: as in breakdown.
-- Columns:
--   kind VARCHAR: kind of the steps.
--   n_steps BIGINT: steps measured.
--   n_cut BIGINT: steps of the kind left out, since the profiling window cuts them or they have no device work.
--   is_cut BOOLEAN: true where a cut step is among those measured (there was no other, or it was asked for).
--   engines INTEGER[]: data-parallel engines measured.
--   n_ranks BIGINT: ranks measured.
--   n_ranks_expected INTEGER: ranks the engine ran with; NULL where unknown.
--   reqs_min BIGINT: fewest requests in a step; NULL where unknown.
--   reqs_max BIGINT: most requests in a step; NULL where unknown.
--   is_verify BOOLEAN: true where some step checks drafts.
--   step_ns DOUBLE: mean duration of a step, ranks reduced by the mean.
--   step_p50_ns DOUBLE: median of it over steps.
--   step_p10_ns DOUBLE: 10th percentile; NULL with a single step.
--   step_p90_ns DOUBLE: 90th percentile; NULL with a single step.
--   tokens_per_step DOUBLE: tokens emitted per request and step, of the steps measured (windows.tokens_per_step has those of
--     whole windows); NULL where nothing tells.
--   token_source VARCHAR: what tells them: trace (n_emitted_tokens), rule (no drafts: one each), counters (/metrics) or
--     log (the server's); the least certain where steps differ.
--   ns_per_token DOUBLE: mean step less wait_for_work / tokens_per_step: what a stream waits for a token.
--   tokens_per_s DOUBLE: its inverse, per stream.
--   wait_for_work_ns DOUBLE: mean time without a request, left out of ns_per_token.
--   busy_share DOUBLE: busy time / duration.
--   all_reduce_share_of_step DOUBLE: AllReduce (busy) / duration.
--   all_reduce_share_of_busy DOUBLE: AllReduce (busy) / busy time.
--   unknown_share DOUBLE: time of kernels no rule knows / busy time.
--   starved_ns DOUBLE: mean time per step in which the device was idle with nothing queued; NULL without launches.
--   starved_share DOUBLE: starved_ns / step_ns.
--   launch_delay_ns DOUBLE: time from launch call to start, median over steps; NULL without launches.
--   phase_sources VARCHAR: what decided the phases, most time first.
--   n_unlinked BIGINT: activities of the run whose launch is not in the trace.
--   unlinked_ns BIGINT: their durations added up.
--   n_unplaced BIGINT: those of them that are in no step.
--   unplaced_ns BIGINT: their durations added up.
-- Limits: profiling slows the host: shares are right, times are those of the profiled run.

WITH asked AS (
    SELECT * FROM asked_steps($run, $kind, $dp, $rank, $step)
),

chosen AS (
    SELECT * FROM asked WHERE is_shown
),

units AS (
    SELECT
        dp,
        step,
        any_value(kind) AS kind,
        NOT bool_and(is_complete) AS is_cut,
        bool_or(is_verify) AS is_verify,
        max(coalesce(n_prefill_reqs, 0)::BIGINT + n_decode_reqs) AS n_reqs,
        coalesce(nullif(max(n_decode_reqs), 0), 1) AS n_streams,
        max(expected_tokens) AS n_expected,
        max(token_source) AS token_source,
        avg(dur_ns) AS dur_ns,
        avg(dur_ns - coalesce(wait_for_work_ns, 0)) AS work_ns,
        avg(busy_ns) AS busy_ns,
        avg(starved_ns) AS starved_ns,
        avg(launch_delay_ns) AS launch_delay_ns
    FROM chosen
    GROUP BY dp, step
),

figures AS (
    SELECT
        any_value(kind) AS kind,
        count(*) AS n_steps,
        bool_or(is_cut) AS is_cut,
        bool_or(is_verify) AS is_verify,
        min(n_reqs) AS reqs_min,
        max(n_reqs) AS reqs_max,
        avg(dur_ns) AS step_ns,
        median(dur_ns) AS step_p50_ns,
        CASE WHEN count(*) > 1 THEN quantile_cont(dur_ns, 0.1) END AS step_p10_ns,
        CASE WHEN count(*) > 1 THEN quantile_cont(dur_ns, 0.9) END AS step_p90_ns,
        avg(work_ns) AS work_ns,
        avg(busy_ns) AS busy_ns,
        avg(starved_ns) AS starved_ns,
        median(launch_delay_ns) AS launch_delay_ns,
        CASE WHEN count(n_expected) = count(*) THEN sum(n_expected) / sum(n_streams) END AS tokens_per_step,
        CASE
            WHEN any_value(kind) = 'decode' AND count(n_expected) = count(*) THEN least_certain(list(token_source))
        END AS token_source
    FROM units
    HAVING count(*) > 0
),

-- Ranks first, so that a step with fewer ranks weighs as much as any other.
categories AS (
    SELECT
        sum(step_category.busy_ns / n_ranks) FILTER (WHERE category = 'all_reduce') AS all_reduce_ns,
        sum(step_category.busy_ns / n_ranks) FILTER (WHERE category = 'unknown') AS unknown_ns
    FROM step_category
    INNER JOIN (SELECT *, count(*) OVER (PARTITION BY dp, step) AS n_ranks FROM chosen) AS ranked
        ON ranked.dp = step_category.dp
        AND ranked.rank IS NOT DISTINCT FROM step_category.rank
        AND ranked.step = step_category.step
    WHERE step_category.run = $run
),

sources AS (
    SELECT phase_source::VARCHAR AS phase_source, sum(step_phase.busy_ns) AS busy_ns
    FROM step_phase
    SEMI JOIN chosen
        ON chosen.dp = step_phase.dp
        AND chosen.rank IS NOT DISTINCT FROM step_phase.rank
        AND chosen.step = step_phase.step
    WHERE run = $run AND n > 0
    GROUP BY phase_source
),

unlinked AS (
    SELECT
        count(*) AS n_unlinked,
        coalesce(sum(dur_ns), 0)::BIGINT AS unlinked_ns,
        count(*) FILTER (WHERE step IS NULL) AS n_unplaced,
        coalesce(sum(dur_ns) FILTER (WHERE step IS NULL), 0)::BIGINT AS unplaced_ns
    FROM activity
    WHERE run = $run AND link IN ('order', 'none')
        AND ($dp IS NULL OR dp = $dp) AND ($rank IS NULL OR rank = $rank)
)

SELECT
    kind,
    n_steps,
    (SELECT count(DISTINCT (dp, step)) FROM asked) - n_steps AS n_cut,
    is_cut,
    (SELECT list(DISTINCT dp ORDER BY dp) FROM chosen) AS engines,
    (SELECT count(DISTINCT (dp, rank)) FROM chosen) AS n_ranks,
    (SELECT world_size FROM runs WHERE run = $run) AS n_ranks_expected,
    reqs_min,
    reqs_max,
    is_verify,
    step_ns,
    step_p50_ns,
    step_p10_ns,
    step_p90_ns,
    tokens_per_step,
    token_source,
    nullif(work_ns, 0) / nullif(tokens_per_step, 0) AS ns_per_token,
    1e9 * tokens_per_step / nullif(work_ns, 0) AS tokens_per_s,
    step_ns - work_ns AS wait_for_work_ns,
    busy_ns / step_ns AS busy_share,
    coalesce(all_reduce_ns, 0) / n_steps / step_ns AS all_reduce_share_of_step,
    coalesce(all_reduce_ns, 0) / n_steps / busy_ns AS all_reduce_share_of_busy,
    coalesce(unknown_ns, 0) / n_steps / busy_ns AS unknown_share,
    starved_ns,
    starved_ns / step_ns AS starved_share,
    launch_delay_ns,
    (SELECT string_agg(phase_source, ', ' ORDER BY busy_ns DESC, phase_source) FROM sources) AS phase_sources,
    n_unlinked,
    unlinked_ns,
    n_unplaced,
    unplaced_ns
FROM figures
CROSS JOIN categories
CROSS JOIN unlinked
