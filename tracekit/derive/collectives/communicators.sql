-- Which calls are of one communicator, and which of them have to agree over its ranks.
--
-- Where events name their process group, that is it. Else all calls of a category are taken for one, over
-- the ranks of a pipeline stage (send_recv: over the stages); all-to-alls, and everything where each
-- data-parallel engine is one rank, go over all engines, whose steps are numbered apart. A communicator's
-- ranks are those of its scope with any collective: one that has none of this category has lost them.
--
-- comm       description or name of the process group; where several of an engine share it, with name and
--            ranks
-- stretch    calls that one step and phase of a communicator hold; of no step, those between two steps
-- place      of a call in its stretch on its rank, from 1
-- is_contradicted  more ranks have traces of a process group than its events say it has
-- node       a rank of an engine as one number
-- tolerance  what two times may lie apart and be the same: 2 us, or the resolution of the file
--
-- Makes: communicator, called.

CREATE TEMP TABLE communicator AS
WITH member AS (
    SELECT
        file_id, dp, rank, coalesce(stage, '') AS stage, coalesce(host_name, '') AS host,
        (dp::BIGINT << 32) + rank AS node, greatest(2000, grain_ns) AS tolerance_ns,
        coalesce(
            try_cast(regexp_extract(path, '(?:_pp|-PP-)(\d+)', 1) AS INTEGER),
            rank // nullif(tensor_parallel, 1), 0
        ) AS pipeline_stage,
        count(*) OVER (PARTITION BY stage) AS n_all,
        count(*) OVER (PARTITION BY dp, stage) AS n_engine,
        count(*) OVER (PARTITION BY dp, stage, pipeline_stage) AS n_stage
    FROM file
    SEMI JOIN collective_call USING (file_id)
    CROSS JOIN (SELECT tensor_parallel FROM run) AS run
),
scoped AS (
    SELECT
        used.*, member.* EXCLUDE (file_id), coalesce(pg_desc, pg_name, 'unnamed ' || category) AS comm,
        CASE
            WHEN comm IN (pg_desc, pg_name)
                THEN {'kind': 'named', 'dp': dp, 'part': concat_ws(' ', pg_name, pg_ranks)}
            WHEN n_engine = 1 OR category = 'all_to_all' THEN {'kind': 'engines', 'dp': NULL, 'part': NULL}
            WHEN category = 'send_recv' AND n_engine > n_stage
                THEN {'kind': 'stages', 'dp': dp, 'part': (rank % n_stage)::VARCHAR}
            ELSE {'kind': 'ranks', 'dp': dp, 'part': pipeline_stage::VARCHAR}
        END AS scope
    FROM member
    JOIN (
        SELECT DISTINCT file_id, label, category, pg_name, pg_desc, pg_ranks, group_size FROM collective_call
    ) AS used USING (file_id)
)
SELECT
    * REPLACE (
        CASE WHEN scope.kind = 'named' AND count(DISTINCT scope) OVER (PARTITION BY stage, dp, comm) > 1
            THEN concat_ws(' ', pg_desc, scope.part)
            ELSE comm
        END AS comm
    ),
    dense_rank() OVER (ORDER BY stage, comm, scope) AS comm_id,
    CASE scope.kind
        WHEN 'named' THEN greatest(
            count(DISTINCT file_id) OVER in_comm, least(max(group_size) OVER in_comm, n_engine)
        )
        WHEN 'engines' THEN n_all
        WHEN 'stages' THEN n_engine // n_stage
        ELSE n_stage
    END AS n_ranks,
    count(DISTINCT host) OVER in_comm > 1 AS is_over_hosts,
    coalesce(min(group_size) OVER in_comm < count(DISTINCT file_id) OVER in_comm, false) AS is_contradicted
FROM scoped
WINDOW in_comm AS (PARTITION BY stage, comm, scope);

CREATE TEMP TABLE called AS
WITH labelled AS (
    SELECT
        id, file_id, label, start_ns, comm_id, phase, collective_call.category, seq,
        CASE WHEN scope.kind != 'engines' THEN step END AS common_step
    FROM collective_call
    JOIN communicator USING (file_id, label)
),
stretched AS (
    SELECT
        *,
        hash(
            comm_id, common_step, CASE WHEN common_step IS NOT NULL THEN phase END,
            max(common_step) OVER (PARTITION BY file_id ORDER BY start_ns, id)
        ) AS stretch
    FROM labelled
),
-- Narrow, and joined to the rest afterwards: windows over whole rows take four times as long.
counted AS (
    SELECT
        id, common_step, stretch,
        row_number() OVER (PARTITION BY stretch, file_id ORDER BY start_ns, id) AS place,
        seq IS NOT NULL AND count(*) OVER (PARTITION BY comm_id, category, seq, file_id) > 1 AS is_repeated
    FROM stretched
)
SELECT
    call.* EXCLUDE (label, pg_name, pg_desc, pg_ranks, group_size), common_step, stretch, place,
    dp, rank, host, node, tolerance_ns, comm_id, comm, n_ranks, is_over_hosts, is_contradicted,
    CASE WHEN NOT is_contradicted THEN call.group_size END AS group_size, is_repeated
FROM counted
JOIN collective_call AS call USING (id)
JOIN communicator USING (file_id, label);
