-- What a decode step costs, in the parts that a change of drafts or load moves.
--
-- Answers: what does a step consist of, and which of it grows with the tokens it checks?
-- Grain: one row per run with measured decode steps.
-- Columns:
--   run VARCHAR: run.
--   is_speculative BOOLEAN: true where some of its decode steps check drafts.
--   n_steps BIGINT: decode steps measured (steps.is_measured).
--   n_requests DOUBLE: mean requests of a step.
--   n_drafted DOUBLE: mean drafted tokens that a step checks for each request; 0 without drafts.
--   k INTEGER: drafted tokens of a draft as configured, else the mean of those checked, rounded; 0 without drafts.
--   covered DOUBLE: part of the steps of a request that check a draft, by spec_decode's tokens of a draft; 1 without.
--   n_tokens DOUBLE: mean tokens of the target's pass.
--   step_ns DOUBLE: mean time of a step, waiting for work left out.
--   step_error_ns DOUBLE: half of the 95 % interval of that mean, steps taken as independent; NULL with a single step.
--   pass_ns DOUBLE: mean busy time of the target's pass (phases forward and verify).
--   gemm_ns DOUBLE: of it, category gemm (busy): parts overlap.
--   moe_gemm_ns DOUBLE: of it, category moe_gemm.
--   all_reduce_ns DOUBLE: of it, category all_reduce, waiting and all.
--   all_reduce_waiting_ns DOUBLE: of that, waiting for other ranks; 0 where calls are not matched.
--   attention_ns DOUBLE: of it, categories attention and linear_attention.
--   draft_ns DOUBLE: mean busy time of drafting on the device.
--   draft_all_reduce_ns DOUBLE: of it, category all_reduce.
--   sample_ns DOUBLE: mean busy time of sampling and rejection.
--   idle_ns DOUBLE: mean time without work on the device: host, launches, drafts made on the host.
--   n_all_reduces DOUBLE: mean all-reduces of the pass, per rank.
--   n_draft_all_reduces DOUBLE: mean all-reduces of drafting, per rank.
--   draft_host_ns DOUBLE: mean time of the scopes of drafting on the host; NULL without such scopes.
--   draft_share_per_token DOUBLE: part of draft_ns in kernels of which each drafted token has its own.
--   message_bytes DOUBLE: bytes that a token adds to an all-reduce of the pass; NULL where sizes are not known.
--   unprofiled_factor DOUBLE: all times hold it: time of a step without the profiler / with it; 1 where only one was timed.
--   unprofiled_window VARCHAR: window it is from; NULL without.
-- Limits: means over steps, ranks reduced first by the mean; a step without a part counts as 0.

WITH chosen AS (
    SELECT *, count(*) OVER (PARTITION BY run, dp, step) AS n_ranks
    FROM steps
    WHERE is_measured AND kind = 'decode'
),

units AS (
    SELECT
        run, dp, step,
        bool_or(is_verify) AS is_verify,
        max(coalesce(n_decode_reqs, 1)) AS n_requests,
        max(n_decode_tokens) AS n_tokens,
        max(n_draft_tokens) AS n_drafted,
        avg(dur_ns - coalesce(wait_for_work_ns, 0)) AS step_ns,
        avg(idle_ns) AS idle_ns
    FROM chosen
    GROUP BY run, dp, step
),

-- Profiling slows the host: 1 where only the profiled window was timed.
unprofiled AS (
    SELECT run, window_name, trace_factor AS factor
    FROM windows
    WHERE is_quoted
),

figures AS (
    SELECT
        units.run,
        bool_or(is_verify) AS is_speculative,
        count(*) AS n_steps,
        avg(n_requests) AS n_requests,
        CASE WHEN bool_or(is_verify) THEN coalesce(
            sum(n_drafted) / sum(n_requests), any_value(num_speculative_tokens), 1
        ) ELSE 0 END::DOUBLE AS n_drafted,
        CASE WHEN bool_or(is_verify) THEN coalesce(
            nullif(any_value(num_speculative_tokens), 0), greatest(1, round(sum(n_drafted) / nullif(sum(n_requests), 0))), 1
        ) ELSE 0 END::INTEGER AS k,
        avg(step_ns) AS step_ns,
        students_t(count(*) - 1) * stddev_samp(step_ns) / sqrt(count(*)) AS step_error_ns,
        avg(idle_ns) AS idle_ns,
        avg(n_tokens) AS n_tokens,
        coalesce(any_value(factor), 1) AS factor,
        any_value(window_name) AS window_name
    FROM units
    INNER JOIN runs ON runs.run = units.run
    LEFT JOIN unprofiled ON unprofiled.run = units.run
    GROUP BY units.run
),

phases AS (
    SELECT
        step_phase.run,
        sum(step_phase.busy_ns / n_ranks) FILTER (WHERE phase IN ('forward', 'verify')) AS pass_ns,
        sum(step_phase.busy_ns / n_ranks) FILTER (WHERE phase = 'draft') AS draft_ns,
        sum(step_phase.busy_ns / n_ranks) FILTER (WHERE phase = 'sample') AS sample_ns,
        sum(step_phase.host_dur_ns / n_ranks) FILTER (WHERE phase = 'draft') AS draft_host_ns,
        count(*) FILTER (WHERE phase = 'draft' AND n > 0) AS n_draft_steps
    FROM step_phase
    INNER JOIN chosen
        ON chosen.run = step_phase.run AND chosen.dp = step_phase.dp
        AND chosen.rank IS NOT DISTINCT FROM step_phase.rank AND chosen.step = step_phase.step
    GROUP BY step_phase.run
),

categories AS (
    SELECT
        step_category.run,
        phase = 'draft' AS is_draft,
        category,
        sum(step_category.busy_ns / n_ranks) AS busy_ns,
        sum(n / n_ranks) AS calls
    FROM step_category
    INNER JOIN chosen
        ON chosen.run = step_category.run AND chosen.dp = step_category.dp
        AND chosen.rank IS NOT DISTINCT FROM step_category.rank AND chosen.step = step_category.step
    WHERE phase IN ('forward', 'verify', 'draft')
    GROUP BY ALL
),

parts AS (
    SELECT
        run,
        sum(busy_ns) FILTER (WHERE NOT is_draft AND category = 'gemm') AS gemm_ns,
        sum(busy_ns) FILTER (WHERE NOT is_draft AND category = 'moe_gemm') AS moe_gemm_ns,
        sum(busy_ns) FILTER (WHERE NOT is_draft AND category = 'all_reduce') AS all_reduce_ns,
        sum(busy_ns) FILTER (WHERE NOT is_draft AND category IN ('attention', 'linear_attention')) AS attention_ns,
        sum(calls) FILTER (WHERE NOT is_draft AND category = 'all_reduce') AS n_all_reduces,
        sum(busy_ns) FILTER (WHERE is_draft AND category = 'all_reduce') AS draft_all_reduce_ns,
        sum(calls) FILTER (WHERE is_draft AND category = 'all_reduce') AS n_draft_all_reduces
    FROM categories
    GROUP BY run
),

-- Bytes that one token adds to a message, and how much of the calls is waiting.
messages AS (
    SELECT
        collectives.run,
        median(bytes / coalesce(n_tokens, n_requests)) AS message_bytes,
        sum(dur_ns - transfer_ns) / sum(dur_ns) FILTER (WHERE transfer_ns IS NOT NULL) AS waiting_share
    FROM collectives
    INNER JOIN units
        ON units.run = collectives.run AND units.dp = collectives.dp AND units.step = collectives.step
    WHERE category = 'all_reduce' AND phase IN ('forward', 'verify')
    GROUP BY collectives.run
),

-- Kernels of which each drafted token has its own grow with K, the others come once in a step.
draft_names AS (
    SELECT
        activity.run,
        activity.name,
        sum(activity.dur_ns) AS sum_ns,
        count(*) / any_value(n_draft_steps) AS calls
    FROM activity
    INNER JOIN chosen
        ON chosen.run = activity.run AND chosen.dp = activity.dp
        AND chosen.rank IS NOT DISTINCT FROM activity.rank AND chosen.step = activity.step
    INNER JOIN phases ON phases.run = activity.run
    WHERE phase = 'draft'
    GROUP BY activity.run, activity.name
),

-- Of a name, so many calls come with each drafted token; of these, those between two drafted tokens lack one.
draft_shares AS (
    SELECT
        run,
        sum(sum_ns * per_token * k / calls) / sum(sum_ns) AS grows
    FROM (
        SELECT
            draft_names.*,
            k,
            if(k > 2 AND round(calls / k) * (k - 1) <= calls + 0.02, round(calls / k), floor(calls / k + 0.02)) AS per_token
        FROM draft_names
        INNER JOIN figures ON figures.run = draft_names.run AND k > 0
    )
    GROUP BY run
)

SELECT
    figures.run,
    is_speculative,
    n_steps,
    n_requests,
    n_drafted,
    k,
    coalesce(least(1, n_drafted / nullif(coalesce(
        draft_tokens / nullif(drafts, 0), (mean_acceptance_length - 1) / nullif(acceptance_rate, 0)
    ), 0)), 1) AS covered,
    coalesce(n_tokens, n_requests * (1 + n_drafted)) AS n_tokens,
    factor * step_ns AS step_ns,
    factor * step_error_ns AS step_error_ns,
    factor * coalesce(pass_ns, 0) / n_steps AS pass_ns,
    factor * coalesce(gemm_ns, 0) / n_steps AS gemm_ns,
    factor * coalesce(moe_gemm_ns, 0) / n_steps AS moe_gemm_ns,
    factor * coalesce(all_reduce_ns, 0) / n_steps AS all_reduce_ns,
    factor * coalesce(all_reduce_ns * waiting_share, 0) / n_steps AS all_reduce_waiting_ns,
    factor * coalesce(attention_ns, 0) / n_steps AS attention_ns,
    factor * coalesce(draft_ns, 0) / n_steps AS draft_ns,
    factor * coalesce(draft_all_reduce_ns, 0) / n_steps AS draft_all_reduce_ns,
    factor * coalesce(sample_ns, 0) / n_steps AS sample_ns,
    factor * idle_ns AS idle_ns,
    coalesce(n_all_reduces, 0) / n_steps AS n_all_reduces,
    coalesce(n_draft_all_reduces, 0) / n_steps AS n_draft_all_reduces,
    factor * draft_host_ns / n_steps AS draft_host_ns,
    coalesce(grows, 0) AS draft_share_per_token,
    message_bytes,
    factor AS unprofiled_factor,
    window_name AS unprofiled_window
FROM figures
LEFT JOIN phases ON phases.run = figures.run
LEFT JOIN parts ON parts.run = figures.run
LEFT JOIN messages ON messages.run = figures.run
LEFT JOIN draft_shares ON draft_shares.run = figures.run
LEFT JOIN spec_decode ON spec_decode.run = figures.run AND spec_decode.position IS NULL
