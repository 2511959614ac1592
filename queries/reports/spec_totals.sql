-- Drafts and accepted tokens over the whole window.
--
-- Answers: how many of the drafted tokens are accepted, and how many tokens came of it?
-- Grain: one row, or none without the server's counters.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   drafts BIGINT: drafts checked: one request in one step; each gives one bonus token.
--   draft_tokens BIGINT: draft tokens checked.
--   accepted BIGINT: draft tokens accepted.
--   tokens BIGINT: tokens these drafts gave: bonus and accepted.
--   acceptance_rate DOUBLE: accepted / draft_tokens.
--   mean_acceptance_length DOUBLE: tokens per draft with the bonus token.
-- Limits: counts tokens that max_tokens cut off afterwards; steps without a draft are not in it.

SELECT
    drafts,
    draft_tokens,
    accepted,
    drafts + accepted AS tokens,
    acceptance_rate,
    mean_acceptance_length
FROM spec_decode
WHERE run = $run AND position IS NULL
