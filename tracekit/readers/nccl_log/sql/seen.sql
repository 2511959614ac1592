-- Calls of one file by who made them on what: rows before the first torn line are `n_sure`.
SELECT
    host, pid, comm, n_ranks, stream, global_rank,
    count(*) AS n,
    count(*) FILTER (WHERE at_byte < $torn_at) AS n_sure
FROM nccl_stage
WHERE file_id = $file_id
GROUP BY ALL
LIMIT $most
