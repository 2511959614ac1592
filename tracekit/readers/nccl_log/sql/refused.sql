-- Calls that were not believed, by reason: how many, and the byte of the first.
SELECT is_joined, count(*), min(at_byte)
FROM nccl_refused
GROUP BY is_joined
ORDER BY is_joined
