-- Accepted draft tokens by position.
--
-- Answers: up to which position do drafts pay?
-- Grain: one row per position from 1, the first drafted token.
-- Params:
--   $run VARCHAR: run to read.
-- Columns:
--   position INTEGER: place in the draft, from 1.
--   drafts BIGINT: drafts checked: one request in one step; NULL where a log leaves it open.
--   accepted BIGINT: drafts whose token at this position was accepted; by a log rounded, NULL where it leaves drafts open.
--   acceptance_rate DOUBLE: accepted / drafts.
--   conditional_rate DOUBLE: acceptance_rate / that at the position before; NULL where that is 0.
-- Limits: from the server's counters around the window, else from its log or the steps traced, where those tell it.

SELECT
    position + 1 AS position,
    drafts,
    accepted,
    acceptance_rate,
    acceptance_rate / nullif(lag(acceptance_rate, 1, 1) OVER (ORDER BY position), 0) AS conditional_rate
FROM spec_decode
WHERE run = $run AND position IS NOT NULL
ORDER BY position
