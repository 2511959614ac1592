-- What the messages of one file tell, each once for a thread: how often, and whether it stands.
--
-- A message in doubt stands where $least say the same; what is no choice, where one does that is not in doubt.
-- The sender of a connection's lines writes them, of a network the receiver too: a line in doubt that begins at
-- another rank than its process has is none. Source: src/transport/*.cc.
CREATE OR REPLACE TEMP TABLE nccl_group AS
WITH counted AS (
    SELECT host, pid, tid, form, place, text, coalesce(is_doubtful, false) AS is_doubtful, count(*) AS n
    FROM nccl_said
    WHERE file_id = $file_id AND text IS NOT NULL
    GROUP BY ALL
),

told AS (
    SELECT counted.*, nccl_form.* EXCLUDE (form, text)
    FROM counted
    JOIN nccl_form USING (form, text)
    UNION ALL BY NAME
    SELECT
        *,
        'note' AS kind,
        'warning' AS note_kind,
        place AS name,
        left(trim(regexp_replace(text, '\s+', ' ', 'g')), $most) AS value,
        place AS topic,
        value AS word,
        coalesce(place, '') || ' ' || value AS content
    FROM counted
    WHERE form = 'warning'
)

SELECT
    *,
    NOT is_doubtful OR sum(n) OVER same >= $least
    OR (kind != 'choice' AND bool_or(NOT is_doubtful) OVER same) AS stands
FROM told
WHERE kind != 'link' OR NOT is_doubtful OR EXISTS (
    SELECT 1
    FROM nccl_comm
    WHERE nccl_comm.run = $run AND nccl_comm.file_id = $file_id
        AND nccl_comm.host = told.host AND nccl_comm.pid = told.pid
        AND nccl_comm.rank = CASE direction WHEN 'receive' THEN to_rank ELSE from_rank END
)
WINDOW same AS (PARTITION BY kind, host, pid, CASE kind WHEN 'choice' THEN tid END, content)
