-- What NCCL's log tells of kernels that were launched one by one.
--
-- The log has a line when a call is enqueued, never at a replay. Eager kernels go k-th to k-th with the
-- lines of a communicator, where its window has as many.
--
-- A process is a stranger, of another run, where a communicator of its has more ranks than the run's world,
-- or where every trace tells its host and none is the log's: up to the first dot, as NCCL cuts names, and
-- with `-` for whatever is no letter or digit.
--
-- Makes: short_host, stranger, logged, claim, ledger.

CREATE TEMP MACRO short_host(host) AS
    lower(regexp_replace(split_part(host, '.', 1), '[^A-Za-z0-9]', '-', 'g'));

CREATE TEMP TABLE stranger AS
WITH process AS (
    SELECT file_id, host, pid, max(n_ranks) AS n_ranks
    FROM (
        SELECT file_id, host, pid, n_ranks FROM nccl_comm
        UNION ALL
        SELECT file_id, host, pid, n_ranks FROM nccl_call
        UNION ALL
        SELECT file_id, host, pid, NULL FROM nccl_tuning
    )
    GROUP BY file_id, host, pid
),
traced AS (
    SELECT
        list(DISTINCT short_host(host_name)) AS hosts,
        string_agg(DISTINCT host_name, ', ' ORDER BY host_name) AS names
    FROM file
    WHERE kind = 'trace'
    HAVING bool_and(coalesce(host_name, '') != '')
)
SELECT
    file_id, host, pid,
    CASE
        WHEN n_ranks > world_size
            THEN 'a communicator of ' || n_ranks || ' ranks, in a run of ' || world_size
        ELSE 'its host is ' || host || ', that of the traces ' || names
    END AS told
FROM process
CROSS JOIN run
LEFT JOIN traced ON true
WHERE coalesce(n_ranks > world_size, false) OR NOT coalesce(list_contains(hosts, short_host(host)), true);

INSERT INTO ledger
SELECT
    $run, file_id, 'log of NCCL of another run (kept, not used for collectives)', NULL, NULL, 0,
    string_agg(DISTINCT told, '; ' ORDER BY told), true
FROM stranger
GROUP BY file_id;

CREATE TEMP TABLE logged AS
SELECT
    hash(file_id, host, pid, comm) AS log_comm, rank, n_ranks, category, at_byte, logged_ns, n_elements,
    torch_name AS element, nccl_call.bytes // types.bytes AS n
FROM nccl_call
ANTI JOIN stranger USING (file_id, host, pid)
JOIN element_types() AS types ON name = bare_type(dtype)
-- NCCL's subsystem CALL says the same calls once more.
WHERE source = 'coll' OR file_id NOT IN (SELECT file_id FROM nccl_call WHERE source = 'coll');

INSERT INTO claim
WITH eager AS (
    SELECT *, row_number() OVER (PARTITION BY file_id, category ORDER BY start_ns, id) AS place
    FROM carried
    WHERE is_nccl AND NOT is_graph AND id NOT IN (SELECT id FROM claim WHERE source = 'args')
        AND EXISTS (FROM logged)
),
-- What was launched before the window comes before all else.
traced AS (
    SELECT
        file_id, category, any_value(eager.rank) AS rank, count(*) AS n_calls, count(at_ns) AS n_launched,
        any_value(window_start_ns) AS from_ns, any_value(window_end_ns) AS to_ns
    FROM eager
    JOIN file USING (file_id)
    GROUP BY file_id, category
    HAVING coalesce(max(start_ns) FILTER (at_ns IS NULL) < min(start_ns) FILTER (at_ns IS NOT NULL), true)
),
-- Stamps may be of another time zone, a whole number of quarters of an hour away: all that fit are tried.
zoned AS (
    SELECT
        file_id, category, log_comm, from_ns, n_calls, n_launched,
        floor((logged_ns - from_ns) / 900_000_000_000)::BIGINT * 900_000_000_000 AS shift_ns
    FROM logged
    JOIN traced USING (category)
    WHERE coalesce(traced.rank % n_ranks = logged.rank, true)
        AND coalesce(
            abs(logged_ns - from_ns) <= 14 * 3_600_000_000_000 AND logged_ns - shift_ns <= to_ns, true
        )
    GROUP BY ALL
    HAVING count(*) = CASE WHEN shift_ns IS NULL THEN n_calls ELSE n_launched END
),
ordered AS (
    SELECT
        file_id, category, element, n, n_ranks,
        row_number() OVER (PARTITION BY file_id, category, log_comm, shift_ns ORDER BY at_byte)
        - CASE
            WHEN shift_ns IS NULL THEN 0
            ELSE count_if(logged_ns - shift_ns < from_ns) OVER alike - (n_calls - n_launched)
        END AS place
    FROM logged
    JOIN zoned USING (log_comm, category)
    WINDOW alike AS (PARTITION BY file_id, category, log_comm, shift_ns)
)
SELECT
    eager.id, 'nccl_log',
    CASE WHEN count(DISTINCT (element, n)) = 1 THEN any_value(element) END,
    CASE WHEN count(DISTINCT (element, n)) = 1 THEN any_value(n) END,
    CASE WHEN min(n_ranks) = max(n_ranks) THEN any_value(n_ranks) END,
    'calls of ' || string_agg(DISTINCT n, ', ' ORDER BY n) || ' elements'
FROM eager
JOIN ordered USING (file_id, category, place)
GROUP BY eager.id;
