-- Drafts and accepted tokens, from the server's counters around the profiled window, else from its log or the steps traced.
--
-- Answers: how many draft tokens does the target model accept, and at which position?
-- Grain: one row per (run, position); position NULL = totals.
-- Columns:
--   run VARCHAR: run.
--   position INTEGER: place in the draft, from 0; NULL in the row of totals.
--   drafts BIGINT: drafts checked: one request in one step; NULL where a log leaves it open, and on SGLang.
--   draft_tokens BIGINT: draft tokens checked; NULL at a position (drafts may be shorter) and on SGLang.
--   accepted BIGINT: draft tokens accepted; by a log at a position rate x drafts, rounded; NULL on SGLang.
--   acceptance_rate DOUBLE: accepted / drafts at a position, accepted / draft_tokens in the totals.
--   mean_acceptance_length DOUBLE: tokens per draft with the bonus token; NULL at a position.
--   source VARCHAR: counters; log: sums over the window's lines, as exact as their digits; or trace: of the decode steps
--     that tell what they emitted (steps.n_emitted_tokens).
--   window_names VARCHAR[]: windows it is of; [NULL] = all of the log, where no window says which part is its own;
--     of trace [NULL], too.
-- Limits: includes tokens that max_tokens cuts off afterwards; no rows of counters without vLLM's three before and
--     after, or where one fell (server restarted). Lines of a log cover what came since the line before (10 s unless set
--     otherwise): drafts before the window may be in them, the last are missing. SGLang's are means of 40 steps,
--     weighted with the requests then running; vLLM's whose drafts are open with their draft tokens. By the trace each
--     request of a step that checks drafts has one; positions are told where no step has several; nothing is counted that was cut.

-- What was profiled comes first; a capture that failed before may have the window without a profiler only.
WITH told AS (
    SELECT run, window_name, 'counters' AS source
    FROM counter
    GROUP BY run, window_name
    HAVING count(DISTINCT moment) = 2
    UNION ALL
    SELECT DISTINCT run, window_name, 'log' AS source
    FROM spec_sample
    LEFT JOIN run USING (run)
    WHERE window_name IS NOT NULL OR coalesce(json_array_length(context, '$.windows'), 0) = 0
),

chosen AS (
    SELECT *
    FROM (
        SELECT
            run,
            window_name,
            source,
            coalesce(is_profiled, true) AS is_profiled,
            bool_or(coalesce(is_profiled, true)) OVER (PARTITION BY run, source) AS has_profiled
        FROM told
        LEFT JOIN capture_window USING (run, window_name)
    )
    WHERE is_profiled = has_profiled
),

names AS (
    SELECT run, source, list(window_name ORDER BY window_name) AS window_names
    FROM chosen
    GROUP BY run, source
    UNION ALL
    SELECT DISTINCT run, 'trace', [NULL::VARCHAR]
    FROM step
),

differences AS (
    SELECT
        run,
        replace(replace(name, 'vllm:spec_decode_num_', ''), '_total', '') AS name,
        TRY_CAST(labels ->> 'position' AS INTEGER) AS position,
        TRY_CAST(round(sum(CASE moment WHEN 'after' THEN value ELSE -value END)) AS BIGINT) AS value
    FROM counter
    INNER JOIN chosen USING (run, window_name)
    WHERE source = 'counters' AND name LIKE 'vllm:spec\_decode\_num\_%' ESCAPE '\'
    GROUP BY ALL
),

counted AS (
    SELECT
        run,
        max(value) FILTER (WHERE name = 'drafts') AS drafts,
        max(value) FILTER (WHERE name = 'draft_tokens') AS draft_tokens,
        max(value) FILTER (WHERE name = 'accepted_tokens') AS accepted
    FROM differences
    GROUP BY run
    HAVING min(value) >= 0 AND drafts > 0 AND draft_tokens >= 0 AND accepted >= 0
),

lines AS (
    SELECT spec_sample.*, bool_and(drafts IS NOT NULL) OVER (PARTITION BY spec_sample.run) AS has_drafts
    FROM spec_sample
    INNER JOIN chosen
        ON chosen.run = spec_sample.run AND chosen.window_name IS NOT DISTINCT FROM spec_sample.window_name
    WHERE source = 'log' AND (n_drafted IS NULL OR n_drafted > 0)
),

logged AS (
    SELECT
        * EXCLUDE (drafts, has_drafts),
        if(has_drafts, drafts, NULL) AS drafts,
        if(has_drafts, drafts, coalesce(n_drafted, n_running)) AS weight
    FROM lines
    ANTI JOIN counted USING (run)
),

traced AS (
    SELECT
        run,
        max(n_decode_reqs) AS drafts,
        max(n_draft_tokens) AS n_drafted,
        max(n_emitted_tokens) - drafts AS n_accepted,
        bool_and(drafts = 1) OVER (PARTITION BY run) AS has_positions
    FROM step
    ANTI JOIN counted USING (run)
    ANTI JOIN logged USING (run)
    WHERE kind = 'decode' AND is_verify AND n_draft_tokens > 0 AND n_decode_reqs > 0 AND n_emitted_tokens IS NOT NULL
    GROUP BY run, dp, step
),

totals AS (
    SELECT
        run,
        drafts,
        draft_tokens,
        accepted,
        accepted / nullif(draft_tokens, 0) AS acceptance_rate,
        1 + accepted / drafts AS mean_acceptance_length,
        'counters' AS source
    FROM counted
    UNION ALL
    SELECT
        run,
        sum(drafts)::BIGINT,
        sum(n_drafted)::BIGINT,
        sum(n_accepted)::BIGINT,
        coalesce(
            sum(n_accepted) / sum(n_drafted),
            sum(acceptance_rate * weight) / nullif(sum(weight) FILTER (WHERE acceptance_rate IS NOT NULL), 0)
        ),
        coalesce(
            1 + sum(n_accepted) / sum(drafts),
            sum(mean_acceptance_length * weight)
            / nullif(sum(weight) FILTER (WHERE mean_acceptance_length IS NOT NULL), 0)
        ),
        'log'
    FROM logged
    GROUP BY run
    UNION ALL
    SELECT
        run,
        sum(drafts)::BIGINT,
        sum(n_drafted)::BIGINT,
        sum(n_accepted)::BIGINT,
        sum(n_accepted) / sum(n_drafted),
        1 + sum(n_accepted) / sum(drafts),
        'trace'
    FROM traced
    GROUP BY run
),

rates AS (
    SELECT
        run,
        drafts,
        weight,
        unnest(position_rates) AS rate,
        generate_subscripts(position_rates, 1) - 1 AS position
    FROM logged
),

positions AS (
    SELECT run, position, value AS accepted, NULL::DOUBLE AS acceptance_rate
    FROM differences
    WHERE name = 'accepted_tokens_per_pos' AND position IS NOT NULL
    UNION ALL
    SELECT
        run,
        position::INTEGER,
        round(sum(rate * drafts))::BIGINT,
        sum(rate * weight) / sum(sum(weight)) FILTER (WHERE position = 0) OVER (PARTITION BY run)
    FROM rates
    GROUP BY run, position
    UNION ALL
    SELECT run, place::INTEGER, count(*) FILTER (WHERE n_accepted > place), NULL
    FROM traced
    CROSS JOIN LATERAL unnest(range(n_drafted)) AS places (place)
    WHERE has_positions
    GROUP BY run, place
),

told_rows AS (
    SELECT *, NULL::INTEGER AS position
    FROM totals
    UNION ALL BY NAME
    SELECT
        run,
        position,
        totals.drafts,
        NULL::BIGINT AS draft_tokens,
        positions.accepted,
        coalesce(positions.acceptance_rate, positions.accepted / totals.drafts) AS acceptance_rate,
        NULL::DOUBLE AS mean_acceptance_length,
        source
    FROM positions
    INNER JOIN totals USING (run)
)

SELECT
    run,
    position,
    drafts,
    draft_tokens,
    accepted,
    acceptance_rate,
    mean_acceptance_length,
    source,
    window_names
FROM told_rows
INNER JOIN names USING (run, source)
