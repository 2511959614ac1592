-- Collectives over ranks: numbers, waits, transfers, and what the device lacked before each.
--
-- Of calls that CUDA graphs replay, the match is `template` where the replay has the same list of kernels,
-- grids and blocks on every rank, and the usual one of its graph.
--
-- starved: time since the rank's last call of that communicator in which its device had nothing queued.
--
-- Makes: matched, clock_offset.

CREATE TEMP TABLE matched AS
WITH replayed AS (
    SELECT
        file_id, launch_id, bool_and(launch_ns IS NULL) AS is_cut, any_value(graph_id) AS graph_id,
        string_agg(form, ' ' ORDER BY start_ns, id) AS forms
    FROM called
    WHERE launch_id >= 0
    GROUP BY ALL
    HAVING bool_or(is_graph) OR count(*) > 1
),
template AS (
    SELECT
        file_id, launch_id, hash(forms) AS spelling,   -- as text it is 2 kB for each call
        -- Of a replay that the window cuts, the end is left.
        graph_id IS NULL OR forms = usual OR is_cut AND ends_with(usual, ' ' || forms) AS is_usual
    FROM (
        SELECT *, mode(forms) OVER (PARTITION BY file_id, graph_id) AS usual
        FROM replayed
    )
),
gap AS (
    SELECT
        file_id, end_ns, least(next_launch_ns, end_ns) - start_ns AS starved_ns,
        sum(starved_ns) OVER (PARTITION BY file_id ORDER BY end_ns ROWS UNBOUNDED PRECEDING)::BIGINT
            AS starved_so_far_ns
    FROM swept
    SEMI JOIN called USING (file_id)
    WHERE running = 0 AND next_launch_ns > start_ns
),
starved AS (
    SELECT
        called.id,
        coalesce(
            coalesce(starved_so_far_ns, 0) - lag(coalesce(starved_so_far_ns, 0)) OVER (
                PARTITION BY called.file_id, comm_id ORDER BY called.start_ns, called.id
            ),
            CASE WHEN gap.end_ns = called.start_ns THEN gap.starved_ns ELSE 0 END
        ) AS starved_ns
    FROM called
    ASOF LEFT JOIN gap ON gap.file_id = called.file_id AND called.start_ns >= gap.end_ns
),
paired_call AS (
    SELECT timed.id, coalesce(pair, timed.id) AS pair, match, is_aligned, spelling, is_usual
    FROM timed
    LEFT JOIN matching USING (id)
    LEFT JOIN template USING (file_id, launch_id)
),
whole AS (
    SELECT
        pair, comm_id, min(dp) AS first_dp, min(from_ns) AS first_ns, max(from_ns) AS last_ns,
        min(end_ns - start_ns) AS transfer_ns, count(*) AS n,
        CASE
            WHEN any_value(match) = 'order' AND NOT bool_or(is_aligned)
                AND bool_and(coalesce(is_usual, false)) AND min(spelling) = max(spelling) THEN 'template'
            ELSE coalesce(any_value(match), 'none')
        END AS match
    FROM paired_call
    JOIN timed USING (id)
    GROUP BY pair, comm_id
),
numbered AS (
    SELECT
        *, row_number() OVER (ORDER BY first_dp, first_ns, pair) - 1 AS collective,
        row_number() OVER (PARTITION BY comm_id ORDER BY first_ns, pair) - 1 AS place_in_comm
    FROM whole
)
SELECT
    call.id, file_id, dp, rank, collective::INTEGER AS collective, comm, coalesce(seq, place_in_comm) AS seq,
    n_activities, step, phase, signature.name, call.category, call.impl, is_fused,
    coalesce(group_size, CASE WHEN numbered.match != 'none' THEN n END)::INTEGER AS group_size,
    start_ns, end_ns - start_ns AS dur_ns, launch_ns,
    CASE WHEN launch_ns IS NOT NULL THEN starved.starved_ns END AS starved_ns,
    CASE WHEN numbered.match != 'none' AND is_timed THEN last_ns - from_ns END AS wait_ns,
    CASE WHEN numbered.match != 'none' THEN transfer_ns END AS transfer_ns,
    numbered.match::collective_match AS match, coalesce(is_aligned, false) AS is_aligned,
    is_timed, is_contradicted, is_repeated, call.comm_id, n_ranks, from_ns, until_ns
FROM timed AS call
JOIN paired_call USING (id)
JOIN numbered USING (pair)
JOIN starved USING (id)
JOIN signature USING (name_id);

INSERT INTO clock_offset
WITH early AS (
    SELECT node, count_if(is_before) AS n_before, count_if(is_after) AS n_after
    FROM (
        SELECT
            node,
            end_ns < max(start_ns) OVER same - tolerance_ns AS is_before,
            until_ns < max(from_ns) OVER same - tolerance_ns AS is_after
        FROM timed
        JOIN matching USING (id)
        WHERE is_blocking
        WINDOW same AS (PARTITION BY pair, comm_id)
    )
    GROUP BY node
)
SELECT
    $run, (node >> 32)::INTEGER, (node & 4_294_967_295)::INTEGER, host_name, offset_ns, 1e6 * drift,
    origin_ns, is_applied, n, spread_ns, coalesce(n_before, 0), coalesce(n_after, 0)
FROM clock
LEFT JOIN early USING (node)
ORDER BY node;
