-- Messages of one file to their tables, but for those in doubt, cut in their last word, or of no real process.
DELETE FROM nccl_group
USING nccl_cut AS cut
WHERE cut.kind = nccl_group.kind AND cut.topic IS NOT DISTINCT FROM nccl_group.topic AND cut.word = nccl_group.word
    AND (cut.kind != 'link' OR (cut.of_host = nccl_group.host AND cut.of_pid = nccl_group.pid));

DELETE FROM nccl_group
WHERE NOT stands OR EXISTS (
    FROM nccl_stranger AS stranger
    WHERE stranger.host = nccl_group.host AND stranger.pid = nccl_group.pid
);

CREATE OR REPLACE TEMP VIEW nccl_believed AS
SELECT said.at_byte, said.stamp, told.*
FROM nccl_said AS said
JOIN nccl_group AS told
    ON told.form = said.form AND told.text = said.text AND told.is_doubtful = coalesce(said.is_doubtful, false)
    AND told.host IS NOT DISTINCT FROM said.host AND told.pid IS NOT DISTINCT FROM said.pid
    AND told.tid IS NOT DISTINCT FROM said.tid AND told.place IS NOT DISTINCT FROM said.place;

INSERT INTO nccl_tuning BY NAME
SELECT
    $run AS run, $file_id AS file_id, at_byte, host, pid, tid, category, bytes, algorithm, protocol, n_channels,
    kernel, n_threads, model_ns
FROM nccl_believed
WHERE kind = 'choice';

INSERT INTO nccl_model BY NAME
SELECT
    $run AS run, $file_id AS file_id, at_byte, host, pid, category, algorithm, protocol, latency_ns, algbw_gb_per_s,
    max_threads
FROM nccl_believed
WHERE kind = 'model'
ORDER BY at_byte, cell;

INSERT INTO nccl_note BY NAME
SELECT
    $run AS run, $file_id AS file_id, at_byte, nccl_logged_ns(stamp) AS logged_ns, host, pid, note_kind AS kind, name,
    value, facts
FROM nccl_believed
WHERE kind = 'note';

-- Lines name ranks only: which communicator is meant is known where one alone may be, or is at its Init.
INSERT INTO nccl_link BY NAME
WITH meant AS (
    SELECT
        told.host, told.pid, from_rank, to_rank,
        CASE WHEN count(DISTINCT comm.comm) = 1 THEN any_value(comm.comm) END AS comm
    FROM (SELECT DISTINCT host, pid, from_rank, to_rank FROM nccl_group WHERE kind = 'link') AS told
    JOIN nccl_comm AS comm
        ON comm.host = told.host AND comm.pid = told.pid AND comm.run = $run AND comm.file_id = $file_id
        AND comm.rank IN (from_rank, to_rank) AND comm.n_ranks > from_rank AND comm.n_ranks > to_rank
    GROUP BY ALL
),

-- Communicators that their process initialises with no other at the same time.
begun AS (
    SELECT host, pid, comm, rank, n_ranks, at_byte AS from_byte, coalesce(initialised_at_byte, at_byte) AS to_byte
    FROM nccl_born_once
    WINDOW in_order AS (PARTITION BY host, pid ORDER BY at_byte)
    QUALIFY coalesce(at_byte > max(to_byte) OVER (in_order ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true)
        AND coalesce(lead(at_byte) OVER in_order > to_byte, true)
)

SELECT
    $run AS run, $file_id AS file_id, at_byte, said.host, said.pid, channel, connection, from_rank, to_rank,
    direction, transport, detail,
    CASE
        WHEN at_byte < to_byte AND rank IN (from_rank, to_rank) AND n_ranks > greatest(from_rank, to_rank)
            THEN begun.comm
        ELSE meant.comm
    END AS comm
FROM nccl_believed AS said
LEFT JOIN meant USING (host, pid, from_rank, to_rank)
ASOF LEFT JOIN begun ON begun.host = said.host AND begun.pid = said.pid AND said.at_byte >= begun.from_byte
WHERE kind = 'link';

DELETE FROM nccl_said WHERE file_id = $file_id;

DELETE FROM nccl_head WHERE file_id = $file_id
