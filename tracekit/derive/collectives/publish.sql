-- Calls of collectives with their messages into their table, and what is doubtful about them.
--
-- Makes: collective, ledger.

INSERT INTO collective
SELECT
    $run, file_id, dp, rank, collective, comm, seq, id, n_activities, step, phase, name, category, impl,
    is_fused, coalesce(message.group_size, matched.group_size), dtype, bytes, bytes_source, start_ns, dur_ns,
    launch_ns, starved_ns, wait_ns, transfer_ns, algorithm, protocol, channels, model_ns, match
FROM matched
LEFT JOIN message USING (id)
ORDER BY dp, collective, rank;

INSERT INTO ledger
WITH shared AS (
    SELECT comm_id, max(from_ns) AS from_ns, min(until_ns) AS until_ns
    FROM (
        SELECT comm_id, file_id, min(from_ns) AS from_ns, max(until_ns) AS until_ns
        FROM matched
        GROUP BY ALL
    )
    GROUP BY comm_id
),
doubtful AS (
    SELECT
        file_id, comm, step, start_ns,
        CASE
            WHEN n_ranks = 1 THEN NULL
            WHEN is_contradicted
                THEN 'collectives of more ranks than their process group says (kept, matched by order)'
            WHEN is_repeated
                THEN 'collectives whose Seq repeats in their communicator (kept, matched by order)'
            WHEN is_aligned THEN 'collectives of which ranks have different numbers (kept, paired by time)'
            WHEN match != 'none' AND NOT is_timed
                THEN 'collectives of ranks whose clocks cannot be compared (kept, waits unknown)'
            WHEN match != 'none' THEN NULL
            WHEN is_timed AND (matched.until_ns < shared.from_ns OR matched.from_ns > shared.until_ns)
                THEN 'collectives outside the time that all ranks were profiled (kept, unmatched)'
            ELSE 'collectives that are not found on every rank (kept, unmatched)'
        END AS reason
    FROM matched
    JOIN shared USING (comm_id)
)
SELECT
    $run, file_id, reason, NULL, NULL, 0,
    concat(
        count(*), ' calls, first of ', arg_min(comm, start_ns),
        ' in step ' || arg_min_null(step, start_ns)
    ),
    NOT regexp_matches(reason, 'by time|all ranks were profiled')
FROM doubtful
WHERE reason IS NOT NULL
GROUP BY file_id, reason;
