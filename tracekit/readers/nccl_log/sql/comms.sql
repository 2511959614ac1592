-- Communicators of one file, but for those of no real process, those of which processes claim the same rank, and those
-- whose pointer is shorter than another that has the rank: it lost digits.
CREATE OR REPLACE TEMP TABLE nccl_born_once AS
FROM nccl_born
WHERE file_id = $file_id AND coalesce((comm_id, rank) NOT IN (
    SELECT (comm_id, rank)
    FROM nccl_born
    WHERE file_id = $file_id AND comm_id IS NOT NULL
    GROUP BY comm_id, rank
    HAVING count(DISTINCT (host, pid)) > 1
), true)
QUALIFY comm_id IS NULL OR strlen(comm) = max(strlen(comm)) OVER (PARTITION BY comm_id, rank);

-- Rank 0 alone logs the version: it is that of all where all that tell have one.
INSERT INTO nccl_comm BY NAME
WITH told AS (
    SELECT unnest($host::VARCHAR[]) AS host, unnest($pid::BIGINT[]) AS pid, unnest($version::VARCHAR[]) AS version
)

SELECT
    $run AS run,
    born.* EXCLUDE (nccl_version, initialised_at_byte),
    coalesce(
        told.version, (SELECT CASE WHEN min(version) = max(version) THEN min(version) END FROM told)
    ) AS nccl_version
FROM nccl_born_once AS born
LEFT JOIN told USING (host, pid)
ANTI JOIN nccl_stranger USING (host, pid);

DELETE FROM nccl_born WHERE file_id = $file_id
