-- Messages of one file by process.
SELECT host, pid, count(*)
FROM nccl_said
WHERE file_id = $file_id AND is_doubtful IS NULL
GROUP BY host, pid
