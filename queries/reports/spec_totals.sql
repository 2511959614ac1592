-- Drafts and accepted tokens over the whole window.
--
-- Answers: how many of the drafted tokens are accepted, and how many tokens came of it?
-- Grain: one row, or none where neither the server's counters, lines of its log nor the steps traced tell.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   drafts BIGINT: drafts checked: one request in one step; each gives one bonus token. NULL where a log leaves it open.
--   draft_tokens BIGINT: draft tokens checked; NULL on SGLang, like the two that follow.
--   accepted BIGINT: draft tokens accepted.
--   tokens BIGINT: tokens these drafts gave: bonus and accepted.
--   acceptance_rate DOUBLE: accepted / draft_tokens.
--   mean_acceptance_length DOUBLE: tokens per draft with the bonus token.
--   source VARCHAR: counters, log or trace.
--   is_whole_log BOOLEAN: true of a log where nothing tells which part is the window's: all of it.
--   n_plain BIGINT: tokens of decode steps without a draft: requests they had, less drafts; NULL as n_cut.
--   n_first BIGINT: first tokens of requests, which prefill gave; NULL where the counters do not tell.
--   n_generated BIGINT: tokens the server counted as generated; NULL without counters.
--   n_cut BIGINT: accepted tokens that max_tokens, or the end of a text, cut off: drafts, accepted, plain and first tokens
--     less those generated; NULL without counters, or where neither the engine's log nor the trace has all steps of them.
-- Limits: drafts and accepted count tokens that are cut off afterwards; steps without a draft are not in them. A request
--     that was preempted gives a token at its second prefill that n_first lacks: a negative n_cut is NULL.

WITH totals AS (
    SELECT *
    FROM spec_decode
    WHERE run = $run AND position IS NULL
),

counted AS (
    SELECT
        sum(n_emitted_tokens)::BIGINT AS n_generated,
        CASE WHEN count(n_first_tokens) = count(*) THEN sum(n_first_tokens)::BIGINT END AS n_first,
        CASE WHEN count(n_decode_requests) = count(*) THEN sum(n_decode_requests)::BIGINT END AS n_decoded
    FROM windows
    WHERE run = $run
        AND window_name IN (SELECT unnest(window_names) FROM totals WHERE source = 'counters')
)

SELECT
    drafts,
    draft_tokens,
    accepted,
    drafts + accepted AS tokens,
    acceptance_rate,
    mean_acceptance_length,
    source,
    source = 'log' AND window_names[1] IS NULL AS is_whole_log,
    n_decoded - drafts AS n_plain,
    n_first,
    n_generated,
    CASE WHEN n_decoded + accepted + n_first >= n_generated THEN n_decoded + accepted + n_first - n_generated END AS n_cut
FROM totals
CROSS JOIN counted
