-- Lines of one slice that no other lane has but may be, or be parts of, what is read.
SELECT at_byte, strlen(line) AS length
FROM nccl_line
WHERE lane IS NULL AND regexp_matches(line, $interest)
ORDER BY at_byte
