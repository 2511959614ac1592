-- Lines of one slice that are no whole calls but may be, or be parts of, what is read.
SELECT at_byte, strlen(line) AS length
FROM nccl_line
WHERE NOT is_call AND regexp_matches(line, $interest)
ORDER BY at_byte
