-- How far each GPU's clock stands from those of the others, and whether times are corrected by it.
--
-- All ranks end a blocking collective nearly together, so the median over many of what lies between two
-- ranks' ends is what lies between their clocks. Each is compared with the rank that has most calls of the
-- communicator, in the steps in which both have equally many. A rank that lost calls looks like one whose
-- clock is off by as many, but in one step only: with less than three steps, only calls that overlap as they
-- are count. Clocks also drift: with three steps in each quarter of the calls, what lies between the ends of
-- the first and of the last quarter is a drift where it stands out as an offset has to. A drift whose line
-- leaves ends of some eighth of the calls as far off is none, but a jump: its ranks cannot be compared.
-- Differences add up over communicators to one clock per rank (node), relative to the least it is tied to
-- (root); a root's clocks are corrected to the middle one of them.
--
-- elapsed  time of a call since the first one compared on its host: what a drift is multiplied with
--
-- Between hosts they always are corrected. On one host only where the offset stands out (more than 2 us,
-- than the grain, than three times its noise) and no more ranks then end before the last begins than did
-- before. On CPU one host has one clock.
--
-- Makes: clock, timed.

CREATE TEMP TABLE clock AS
WITH RECURSIVE sided AS (
    SELECT
        key, match, comm_id, common_step, file_id, node, start_ns, end_ns, tolerance_ns,
        min(start_ns) OVER (PARTITION BY host) AS origin_ns, start_ns - origin_ns AS elapsed_ns
    FROM called
    JOIN keyed USING (id)
    WHERE is_blocking
),
reference AS (
    SELECT DISTINCT ON (comm_id) comm_id, file_id
    FROM sided
    GROUP BY comm_id, file_id
    ORDER BY comm_id, count(*) DESC, file_id
),
compared AS (
    SELECT
        sided.*, ref.node AS ref_node, sided.end_ns - ref.end_ns AS apart_ns,
        sided.start_ns <= ref.end_ns + sided.tolerance_ns
        AND ref.start_ns <= sided.end_ns + sided.tolerance_ns AS is_near
    FROM sided
    JOIN (FROM sided SEMI JOIN reference USING (comm_id, file_id)) AS ref USING (key)
),
steady AS (
    SELECT ref_node, node
    FROM compared
    GROUP BY ALL
    HAVING count(DISTINCT common_step) >= 3 OR bool_or(match = 'exact')
),
ended AS (
    SELECT compared.*, max(start_ns) OVER (PARTITION BY key) AS last_start_ns
    FROM compared
    LEFT JOIN steady USING (ref_node, node)
    WHERE is_near OR steady.node IS NOT NULL
),
quartered AS (
    SELECT *, ntile(4) OVER (PARTITION BY ref_node, node ORDER BY elapsed_ns) AS quarter
    FROM ended
    WHERE node != ref_node
),
quarterly AS (
    SELECT
        ref_node, node, quarter, median(apart_ns) AS apart_ns, median(elapsed_ns) AS elapsed_ns,
        greatest(max(tolerance_ns), 3 * mad(apart_ns)) AS noise_ns,
        count(DISTINCT common_step) >= 3 OR bool_and(match = 'exact') AND count(*) >= 5 AS is_steady
    FROM quartered
    GROUP BY ALL
),
sloped AS (
    SELECT
        ref_node, node, min_by(apart_ns, quarter) AS first_ns, max_by(apart_ns, quarter) AS last_ns,
        CASE
            WHEN bool_and(is_steady) AND abs(last_ns - first_ns) > max(noise_ns)
                THEN (last_ns - first_ns) / (max(elapsed_ns) - min(elapsed_ns))
            ELSE 0
        END AS drift
    FROM quarterly
    GROUP BY ALL
),
levelled AS (
    SELECT
        ref_node, node, drift, tolerance_ns, apart_ns - (drift * elapsed_ns)::BIGINT AS apart_ns,
        ntile(8) OVER (PARTITION BY ref_node, node ORDER BY elapsed_ns) AS eighth
    FROM quartered
    JOIN sloped USING (ref_node, node)
),
edge AS (
    SELECT
        ref_node AS a, node AS b, median(apart_ns)::BIGINT AS apart_ns, any_value(drift) AS drift
    FROM levelled
    GROUP BY ALL
),
eighths AS (
    SELECT
        ref_node, levelled.node, eighth, max(tolerance_ns) AS tolerance_ns,
        median(levelled.apart_ns - edge.apart_ns) AS off_ns, mad(levelled.apart_ns) AS noise_ns
    FROM levelled
    JOIN edge ON a = ref_node AND b = levelled.node
    WHERE levelled.drift != 0
    GROUP BY ref_node, levelled.node, eighth
),
bent AS (
    SELECT node, list(ref_node) AS bent_from
    FROM (
        SELECT ref_node, node
        FROM eighths
        GROUP BY ref_node, node
        HAVING max(abs(off_ns)) > greatest(max(tolerance_ns), 3 * median(noise_ns))
    )
    GROUP BY node
),
tie AS (
    SELECT a, b, apart_ns, drift FROM edge
    UNION ALL
    SELECT b, a, -apart_ns, -drift FROM edge
),
tied (node, root, clock_ns, drift) USING KEY (node) AS (
    SELECT DISTINCT a, a, 0::BIGINT, 0::DOUBLE FROM tie
    UNION
    (
        SELECT DISTINCT ON (own.node)
            own.node, other.root, other.clock_ns + apart_ns, other.drift + tie.drift
        FROM recurring.tied AS own
        JOIN tie ON tie.b = own.node
        JOIN tied AS other ON other.node = tie.a
        WHERE other.root < own.root
        ORDER BY own.node, other.root
    )
),
corrected AS (
    SELECT
        node, root, host_name,
        quantile_disc(clock_ns, 0.5) OVER (PARTITION BY root) - clock_ns AS offset_ns,
        quantile_disc(tied.drift, 0.5) OVER (PARTITION BY root) - tied.drift AS drift
    FROM tied
    JOIN (
        SELECT node, any_value(nullif(host, '')) AS host_name
        FROM communicator
        GROUP BY node
    ) USING (node)
),
residue AS (
    SELECT
        node, origin_ns, tolerance_ns,
        end_ns - last_start_ns + offset_ns + (drift * elapsed_ns)::BIGINT AS end_at_ns,
        end_at_ns - median(end_at_ns) OVER (PARTITION BY key) AS residue_ns
    FROM ended
    JOIN corrected USING (node)
),
noise AS (
    SELECT
        node, any_value(origin_ns) AS origin_ns, count(*) AS n,
        median(abs(residue_ns))::BIGINT AS spread_ns, max(tolerance_ns) AS tolerance_ns
    FROM residue
    GROUP BY node
),
wanted AS (
    SELECT
        corrected.*, origin_ns, n, spread_ns,
        n >= 5 AND (
            count(DISTINCT coalesce(host_name, '')) OVER (PARTITION BY root) > 1
            OR (SELECT backend FROM backend) = 'gpu'
            AND (drift != 0 OR abs(offset_ns) > greatest(tolerance_ns, 3 * spread_ns))
        ) AS is_wanted
    FROM corrected
    JOIN noise USING (node)
),
shifted AS (
    SELECT
        ended.*, CASE WHEN is_wanted THEN offset_ns + (drift * elapsed_ns)::BIGINT ELSE 0 END AS shift_ns,
        max(start_ns + shift_ns) OVER (PARTITION BY key) AS last_shifted_ns
    FROM ended
    JOIN wanted USING (node)
),
early AS (
    SELECT
        node,
        count_if(end_ns < last_start_ns - tolerance_ns) AS n_before,
        count_if(end_ns + shift_ns < last_shifted_ns - tolerance_ns) AS n_after
    FROM shifted
    GROUP BY node
)
SELECT
    node, root, host_name, offset_ns, drift, origin_ns, n, spread_ns, is_wanted, bent_from,
    is_wanted AND sum(n_after) OVER in_root <= sum(n_before) OVER in_root AS is_applied
FROM wanted
JOIN early USING (node)
LEFT JOIN bent USING (node)
WINDOW in_root AS (PARTITION BY root);

-- Calls with corrected times; is_timed: those of the communicator's ranks can be compared.
CREATE TEMP TABLE timed AS
WITH comparable AS (
    SELECT
        comm_id,
        (NOT bool_or(is_over_hosts) OR count(DISTINCT root) = 1 AND bool_and(coalesce(is_applied, false)))
        AND NOT (
            bool_or(coalesce(is_wanted, false))
            AND list_has_any(list(node), flatten(list(coalesce(bent_from, []))))
        ) AS is_timed
    FROM communicator
    LEFT JOIN clock USING (node)
    GROUP BY comm_id
)
SELECT
    called.*,
    CASE WHEN is_applied THEN offset_ns + (drift * (start_ns - origin_ns))::BIGINT ELSE 0 END AS shift_ns,
    start_ns + shift_ns AS from_ns, end_ns + shift_ns AS until_ns, is_timed
FROM called
JOIN comparable USING (comm_id)
LEFT JOIN clock USING (node);
