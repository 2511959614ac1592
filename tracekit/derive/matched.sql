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
        file_id, launch_id, forms,
        -- Of a replay that the window cuts, the end is left.
        graph_id IS NULL OR forms = usual OR is_cut AND ends_with(usual, ' ' || forms) AS is_usual
    FROM (
        SELECT *, mode(forms) OVER (PARTITION BY file_id, graph_id) AS usual
        FROM replayed
    )
),
gap AS (
    SELECT
        file_id, end_ns,
        sum(greatest(0, least(next_launch_ns, end_ns) - start_ns)) OVER (
            PARTITION BY file_id ORDER BY end_ns
        )::BIGINT AS starved_ns,
        greatest(0, least(next_launch_ns, end_ns) - start_ns) AS own_ns
    FROM swept
    SEMI JOIN called USING (file_id)
    WHERE running = 0 AND end_ns IS NOT NULL
),
starved AS (
    SELECT
        called.id,
        coalesce(
            gap.starved_ns - lag(gap.starved_ns) OVER (
                PARTITION BY called.file_id, comm_id ORDER BY called.start_ns, called.id
            ),
            CASE WHEN gap.end_ns = called.start_ns THEN own_ns ELSE 0 END
        ) AS starved_ns
    FROM called
    ASOF LEFT JOIN gap ON gap.file_id = called.file_id AND called.start_ns >= gap.end_ns
),
joined AS (
    SELECT
        call.*, coalesce(pair, call.id) AS pair, pair IS NOT NULL AS is_matched, is_aligned, matching.match,
        forms, is_usual
    FROM timed AS call
    LEFT JOIN matching USING (id)
    LEFT JOIN template ON (template.file_id, template.launch_id) = (call.file_id, call.launch_id)
),
over_ranks AS (
    SELECT
        *, min(from_ns) OVER same AS first_ns,
        CASE WHEN is_matched AND is_timed THEN max(from_ns) OVER same - from_ns END AS wait_ns,
        CASE WHEN is_matched THEN min(end_ns - start_ns) OVER same END AS transfer_ns,
        CASE WHEN is_matched THEN count(*) OVER same END AS n_matched,
        CASE
            WHEN NOT is_matched THEN 'none'
            WHEN match = 'order' AND NOT is_aligned AND bool_and(coalesce(is_usual, false)) OVER same
                AND min(forms) OVER same = max(forms) OVER same THEN 'template'
            ELSE match
        END AS found
    FROM joined
    WINDOW same AS (PARTITION BY pair)
)
SELECT
    over_ranks.id, file_id, dp, rank,
    (dense_rank() OVER (ORDER BY dp_first, first_ns, pair) - 1)::INTEGER AS collective,
    comm, coalesce(seq, dense_rank() OVER (PARTITION BY comm_id ORDER BY first_ns, pair) - 1) AS seq,
    n_activities, step, phase, name, category, impl, is_fused,
    coalesce(group_size, n_matched)::INTEGER AS group_size,
    start_ns, end_ns - start_ns AS dur_ns, launch_ns,
    CASE WHEN launch_ns IS NOT NULL THEN starved.starved_ns END AS starved_ns,
    wait_ns, transfer_ns, found::collective_match AS match, is_aligned, is_timed, comm_id, n_ranks, from_ns,
    until_ns
FROM (SELECT *, min(dp) OVER (PARTITION BY pair) AS dp_first FROM over_ranks) AS over_ranks
JOIN starved USING (id);

INSERT INTO clock_offset
SELECT
    $run, (node >> 32)::INTEGER, (node & 4_294_967_295)::INTEGER, host_name, offset_ns, is_applied, n,
    spread_ns, n_before, n_after
FROM clock
ORDER BY node;
