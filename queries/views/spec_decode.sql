-- Drafts and accepted tokens, from the server's counters around the profiled window.
--
-- Answers: how many draft tokens does the target model accept, and at which position?
-- Grain: one row per (run, position); position NULL = totals.
-- Columns:
--   run VARCHAR: run.
--   position INTEGER: place in the draft, from 0; NULL in the row of totals.
--   drafts BIGINT: drafts checked: one request in one step.
--   draft_tokens BIGINT: draft tokens checked; NULL at a position (drafts may be shorter).
--   accepted BIGINT: draft tokens accepted.
--   acceptance_rate DOUBLE: accepted / drafts at a position, accepted / draft_tokens in the totals.
--   mean_acceptance_length DOUBLE: tokens per draft with the bonus token; NULL at a position.
-- Limits: counters include tokens that max_tokens cuts off afterwards; no rows without vLLM's three counters before
--     and after, or where a counter fell (server restarted). SGLang has gauges only, which have no difference.

-- What was profiled comes first; a capture that failed before may have the window without a profiler only.
WITH chosen AS (
    SELECT *
    FROM (
        SELECT
            run,
            window_name,
            coalesce(is_profiled, true) AS is_profiled,
            bool_or(coalesce(is_profiled, true)) OVER (PARTITION BY run) AS has_profiled
        FROM (
            SELECT run, window_name
            FROM counter
            GROUP BY run, window_name
            HAVING count(DISTINCT moment) = 2
        )
        LEFT JOIN capture_window USING (run, window_name)
    )
    WHERE is_profiled = has_profiled
),

differences AS (
    SELECT
        run,
        replace(replace(name, 'vllm:spec_decode_num_', ''), '_total', '') AS name,
        TRY_CAST(labels ->> 'position' AS INTEGER) AS position,
        TRY_CAST(round(sum(CASE moment WHEN 'after' THEN value ELSE -value END)) AS BIGINT) AS value
    FROM counter
    INNER JOIN chosen USING (run, window_name)
    WHERE name LIKE 'vllm:spec\_decode\_num\_%' ESCAPE '\'
    GROUP BY ALL
),

totals AS (
    SELECT
        run,
        max(value) FILTER (WHERE name = 'drafts') AS drafts,
        max(value) FILTER (WHERE name = 'draft_tokens') AS draft_tokens,
        max(value) FILTER (WHERE name = 'accepted_tokens') AS accepted
    FROM differences
    GROUP BY run
    HAVING min(value) >= 0 AND drafts > 0 AND draft_tokens >= 0 AND accepted >= 0
)

SELECT
    run,
    NULL::INTEGER AS position,
    drafts,
    draft_tokens,
    accepted,
    accepted / nullif(draft_tokens, 0) AS acceptance_rate,
    1 + accepted / drafts AS mean_acceptance_length
FROM totals
UNION ALL
SELECT
    differences.run,
    differences.position,
    totals.drafts,
    NULL::BIGINT AS draft_tokens,
    differences.value AS accepted,
    differences.value / totals.drafts AS acceptance_rate,
    NULL::DOUBLE AS mean_acceptance_length
FROM differences
INNER JOIN totals ON totals.run = differences.run
WHERE differences.name = 'accepted_tokens_per_pos' AND differences.position IS NOT NULL
