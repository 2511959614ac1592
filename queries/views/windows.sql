-- Windows of a capture: how fast the server was in each, with the profiler and without.
--
-- Answers: how fast is the server when nobody looks, and what is the trace a sample of?
-- Grain: one row per (run, window); a run that is no capture has one, of its traces.
-- Columns:
--   run VARCHAR: run.
--   window_name VARCHAR: name of the window: unprofiled, profiled, ...
--   is_profiled BOOLEAN: true where the profiler ran: the traces are of it.
--   start_ns BIGINT: just before the first request, ns since the epoch; NULL where unknown.
--   dur_ns BIGINT: from there to the end of the last response; NULL where unknown.
--   concurrency INTEGER: requests in flight at a time; NULL where unknown.
--   n_steps BIGINT: engine steps with work, by source; NULL where nothing tells.
--   n_emitted_tokens BIGINT: tokens generated: by the server's counters, else by what it told its clients; NULL where
--     nothing tells.
--   step_ns_p50 DOUBLE: median time of a decode step (no prefill in it), by source; counters give a mean only. NULL
--     where nothing tells.
--   source VARCHAR: iteration_log (each step as the engine timed it), trace or counters; NULL where nothing tells.
--   n_decode_steps BIGINT: steps behind step_ns_p50; NULL of counters.
--   step_ns_p10 DOUBLE: 10th percentile over them; NULL of counters.
--   step_ns_p90 DOUBLE: 90th percentile, likewise.
--   ns_per_token DOUBLE: what a stream waits for a token, by the counters: decode time of the requests that ended in
--     the window / their tokens but the first; NULL without them.
--   ns_per_step DOUBLE: what a stream waits for a step, by the counters, the time between steps and the prefills of others
--     included: that decode time / the steps its requests decoded in, as the log counts them; NULL without them.
--   tokens_per_step DOUBLE: tokens a stream gets of a step, by the counters: ns_per_step / ns_per_token.
--   n_requests BIGINT: requests of the load; NULL where unknown.
--   n_failed_requests BIGINT: of them, those without a whole response.
--   stop_profile_ns BIGINT: how long the server took to stop the profiler; NULL where unknown.
--   n_first_tokens BIGINT: first tokens of requests, which prefill gave, by the counters; NULL without them.
--   n_decode_requests BIGINT: requests over the decode steps, by the log, else the trace, that has all steps the server
--     counted; NULL where neither has.
--   is_quoted BOOLEAN: true of the window that pages quote as the speed without the profiler: by the time of a token,
--     else of a step, the middle one of those that tell it (of an even number the slower of two).
--   trace_factor DOUBLE: of a window without the profiler, its time of a step / that of the steps traced, by the
--     counters of both windows, or the trace's mean where the profiler ended before the load; else by both logs. NULL
--     where none tells.
-- Limits: the log's times hold scheduling and waiting for the device, not the time between steps; a trace's the device
--     alone: compare windows of one source. Without a whole log, steps of requests are the drafts, or the tokens less the
--     first and the accepted ones where that is more: short by what max_tokens cut off where only some steps draft. With asynchronous scheduling the log counts from when the engine began to wait.

WITH differences AS (
    SELECT
        run,
        window_name,
        split_part(name, ':', 2) AS name,
        sum(CASE moment WHEN 'after' THEN value ELSE -value END) AS value
    FROM counter
    WHERE name IN (
        'vllm:generation_tokens_total', 'sglang:generation_tokens_total', 'vllm:iteration_tokens_total_count',
        'vllm:request_decode_time_seconds_sum', 'vllm:request_decode_time_seconds_count',
        'vllm:time_to_first_token_seconds_count',
        'vllm:spec_decode_num_accepted_tokens_total', 'vllm:spec_decode_num_drafts_total',
        'vllm:spec_decode_num_draft_tokens_total'
    )
    GROUP BY ALL
    HAVING count(DISTINCT moment) = 2
),

summed AS (
    SELECT
        run,
        window_name,
        max(value) FILTER (WHERE name = 'generation_tokens_total') AS tokens,
        max(value) FILTER (WHERE name = 'iteration_tokens_total_count') AS steps,
        1e9 * max(value) FILTER (WHERE name = 'request_decode_time_seconds_sum') AS decode_ns,
        max(value) FILTER (WHERE name = 'request_decode_time_seconds_count') AS ended,
        max(value) FILTER (WHERE name = 'time_to_first_token_seconds_count') AS first_tokens,
        coalesce(max(value) FILTER (WHERE name = 'spec_decode_num_accepted_tokens_total'), 0) AS accepted,
        coalesce(max(value) FILTER (WHERE name = 'spec_decode_num_drafts_total'), 0) AS drafts,
        coalesce(max(value) FILTER (WHERE name = 'spec_decode_num_draft_tokens_total'), 0) AS draft_tokens
    FROM differences
    GROUP BY run, window_name
    HAVING min(value) >= 0
),

counted AS (
    SELECT
        run,
        window_name,
        tokens,
        steps,
        decode_ns / nullif(greatest(tokens - ended, 0), 0) AS ns_per_token,
        decode_ns,
        first_tokens,
        greatest(tokens - ended - accepted, drafts) AS n_least,
        -- Accepted tokens that the end of a request cut off; of a single stream its steps tell.
        if(
            concurrency = 1 AND steps - first_tokens - n_least BETWEEN 0 AND ended * draft_tokens / nullif(drafts, 0),
            steps - first_tokens, n_least
        ) AS n_decoded
    FROM summed
    LEFT JOIN capture_window USING (run, window_name)
),

logged AS (
    SELECT
        run,
        window_name,
        count(*) AS n_steps,
        count(*) FILTER (WHERE n_prefill_reqs = 0) AS n_decode_steps,
        sum(n_decode_reqs) AS n_decoded,
        quantile_cont(dur_ns, [0.1, 0.5, 0.9]) FILTER (WHERE n_prefill_reqs = 0) AS spread
    FROM iteration
    WHERE NOT is_dummy AND n_prefill_reqs + n_decode_reqs > 0
    GROUP BY run, window_name
),

-- Ranks of a step first, so that each step counts once.
units AS (
    SELECT
        run,
        dp,
        step,
        avg(dur_ns) FILTER (WHERE is_measured AND kind = 'decode') AS dur_ns,
        avg(dur_ns - coalesce(wait_for_work_ns, 0)) FILTER (WHERE is_measured AND kind = 'decode') AS work_ns,
        max(n_decode_reqs) AS n_decode_reqs
    FROM steps
    WHERE kind <> 'idle'
    GROUP BY run, dp, step
),

traced AS (
    SELECT
        run,
        count(*) AS n_steps,
        count(dur_ns) AS n_decode_steps,
        avg(work_ns) AS work_ns,
        CASE WHEN count(n_decode_reqs) = count(*) THEN sum(n_decode_reqs) END AS n_decoded,
        quantile_cont(dur_ns, [0.1, 0.5, 0.9]) AS spread
    FROM units
    GROUP BY run
),

loads AS (
    SELECT
        run,
        window_name,
        count(*) AS n_requests,
        count(*) FILTER (WHERE dur_ns IS NULL) AS n_failed,
        CASE WHEN count(n_tokens) = count(*) THEN sum(n_tokens)::BIGINT END AS tokens
    FROM request
    GROUP BY run, window_name
),

told AS (
    SELECT
        capture_window.*,
        counted.* EXCLUDE (run, window_name, n_least, n_decoded),
        decode_ns / nullif(if(logged.n_steps = steps, logged.n_decoded, counted.n_decoded), 0) AS ns_per_step,
        CASE
            WHEN logged.n_steps > 0 THEN 'iteration_log'
            WHEN capture_window.is_profiled AND traced.n_steps > 0 THEN 'trace'
            WHEN counted.steps IS NOT NULL THEN 'counters'
        END AS source,
        logged AS log,
        traced AS trace,
        loads AS load
    FROM capture_window
    LEFT JOIN counted USING (run, window_name)
    LEFT JOIN logged USING (run, window_name)
    LEFT JOIN traced USING (run)
    LEFT JOIN loads USING (run, window_name)
),

timed AS (
    SELECT
        told.*,
        CASE source
            WHEN 'iteration_log' THEN log.spread[2]
            WHEN 'trace' THEN trace.spread[2]
            ELSE ns_per_step
        END AS step_ns_p50,
        coalesce(ns_per_token, step_ns_p50) AS quoted_ns
    FROM told
),

-- The trace is a sample of the profiled window, of all of it or of its beginning.
profiled AS (
    SELECT
        run,
        source,
        ns_per_step,
        step_ns_p50,
        coalesce(trace.n_steps >= 0.95 * coalesce(steps, log.n_steps), true) AS is_whole
    FROM timed
    WHERE is_profiled
    QUALIFY row_number() OVER (PARTITION BY run ORDER BY start_ns, window_name) = 1
),

ranked AS (
    SELECT
        run,
        window_name,
        2 * row_number() OVER (PARTITION BY run ORDER BY quoted_ns, start_ns, window_name)
            - count(*) OVER (PARTITION BY run) IN (1, 2) AS is_quoted
    FROM timed
    WHERE NOT is_profiled AND quoted_ns > 0
)

SELECT
    timed.run,
    timed.window_name,
    is_profiled,
    start_ns,
    dur_ns,
    concurrency,
    CASE timed.source
        WHEN 'iteration_log' THEN log.n_steps
        WHEN 'trace' THEN trace.n_steps
        ELSE steps::BIGINT
    END AS n_steps,
    coalesce(tokens::BIGINT, load.tokens) AS n_emitted_tokens,
    timed.step_ns_p50,
    timed.source,
    CASE timed.source WHEN 'iteration_log' THEN log.n_decode_steps WHEN 'trace' THEN trace.n_decode_steps END
        AS n_decode_steps,
    CASE timed.source WHEN 'iteration_log' THEN log.spread[1] WHEN 'trace' THEN trace.spread[1] END AS step_ns_p10,
    CASE timed.source WHEN 'iteration_log' THEN log.spread[3] WHEN 'trace' THEN trace.spread[3] END AS step_ns_p90,
    ns_per_token,
    timed.ns_per_step,
    timed.ns_per_step / nullif(ns_per_token, 0) AS tokens_per_step,
    load.n_requests,
    load.n_failed AS n_failed_requests,
    stop_profile_ns,
    first_tokens::BIGINT AS n_first_tokens,
    CASE
        WHEN log.n_steps = steps THEN log.n_decoded
        WHEN is_profiled AND trace.n_steps = steps THEN trace.n_decoded
    END::BIGINT AS n_decode_requests,
    coalesce(is_quoted, false) AS is_quoted,
    CASE WHEN NOT is_profiled THEN coalesce(
        timed.ns_per_step / coalesce(if(is_whole, profiled.ns_per_step, NULL), trace.work_ns),
        if(timed.source = 'iteration_log' AND profiled.source = 'iteration_log',
            timed.step_ns_p50 / profiled.step_ns_p50, NULL)
    ) END AS trace_factor
FROM timed
LEFT JOIN profiled ON profiled.run = timed.run
LEFT JOIN ranked ON ranked.run = timed.run AND ranked.window_name = timed.window_name
