-- How many drafted tokens are accepted, by position
SELECT run, position, drafts, accepted, acceptance_rate
FROM spec_decode
WHERE position IS NOT NULL
ORDER BY run, position
