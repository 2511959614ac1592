-- Accepted draft tokens by position.
--
-- Answers: up to which position do drafts pay?
-- Grain: one row per position from 1, the first drafted token.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   position INTEGER: place in the draft, from 1.
--   drafts BIGINT: drafts checked: one request in one step.
--   accepted BIGINT: drafts whose token at this position was accepted.
--   acceptance_rate DOUBLE: accepted / drafts.
--   conditional_rate DOUBLE: accepted / accepted at the position before; NULL where that is 0.
-- Limits: from the server's counters around the window; no row without them.

SELECT
    position + 1 AS position,
    drafts,
    accepted,
    acceptance_rate,
    accepted / nullif(lag(accepted, 1, drafts) OVER (ORDER BY position), 0) AS conditional_rate
FROM spec_decode
WHERE run = $run AND position IS NOT NULL
ORDER BY position
