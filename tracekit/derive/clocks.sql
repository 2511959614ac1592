-- How far each GPU's clock stands from those of the others, and whether times are corrected by it.
--
-- All ranks end a blocking collective nearly together, so the median over many of what lies between two
-- ranks' ends is what lies between their clocks. Differences to the least rank of each call add up over
-- communicators to one clock per rank (node), relative to the least it is tied to (root); a root's clocks
-- are corrected to the middle one of them. Between hosts they always are. On one host only where the offset
-- stands out (more than 2 us, than the grain, than three times its noise) and no more ranks then end before
-- the last begins than did before. On CPU one host has one clock.
--
-- Makes: clock, timed.

CREATE TEMP TABLE clock AS
WITH RECURSIVE steady AS (
    SELECT comm_id
    FROM called
    SEMI JOIN paired USING (id)
    GROUP BY comm_id
    HAVING count(DISTINCT common_step) >= 3
),
ended AS (
    SELECT
        pair, (dp::BIGINT << 32) + rank AS node, start_ns, end_ns, greatest(2000, grain_ns) AS tolerance_ns,
        max(start_ns) OVER same AS last_start_ns
    FROM called
    JOIN paired USING (id)
    WHERE is_blocking
    WINDOW same AS (PARTITION BY pair)
    -- A rank that lost calls looks like one whose clock is off by as many; but so it does in one step only.
    QUALIFY match = 'exact' OR common_step IS NOT NULL AND comm_id IN (FROM steady)
        OR last_start_ns <= min(end_ns) OVER same + tolerance_ns
),
edge AS (
    SELECT first.node AS a, ended.node AS b, median(ended.end_ns - first.end_ns)::BIGINT AS apart_ns
    FROM ended
    JOIN (SELECT pair, min(node) AS node, arg_min(end_ns, node) AS end_ns FROM ended GROUP BY pair) AS first
        USING (pair)
    WHERE ended.node != first.node
    GROUP BY ALL
),
tie AS (
    SELECT a, b, apart_ns FROM edge
    UNION ALL
    SELECT b, a, -apart_ns FROM edge
),
tied (node, root, clock_ns) USING KEY (node) AS (
    SELECT DISTINCT a, a, 0::BIGINT FROM tie
    UNION
    (
        SELECT DISTINCT ON (own.node) own.node, other.root, other.clock_ns + apart_ns
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
        quantile_disc(clock_ns, 0.5) OVER (PARTITION BY root) - clock_ns AS offset_ns
    FROM tied
    JOIN (
        SELECT (dp::BIGINT << 32) + rank AS node, any_value(host_name) AS host_name
        FROM file
        WHERE kind = 'trace'
        GROUP BY ALL
    ) USING (node)
),
residue AS (
    SELECT
        node, tolerance_ns, end_ns - last_start_ns + offset_ns AS end_at_ns,
        end_at_ns - median(end_at_ns) OVER (PARTITION BY pair) AS residue_ns
    FROM ended
    JOIN corrected USING (node)
),
noise AS (
    SELECT
        node, count(*) AS n, median(abs(residue_ns))::BIGINT AS spread_ns, max(tolerance_ns) AS tolerance_ns
    FROM residue
    GROUP BY node
),
wanted AS (
    SELECT
        corrected.*, n, spread_ns,
        n >= 5 AND (
            count(DISTINCT coalesce(host_name, '')) OVER (PARTITION BY root) > 1
            OR (SELECT backend FROM backend) = 'gpu'
            AND abs(offset_ns) > greatest(tolerance_ns, 3 * spread_ns)
        ) AS is_wanted
    FROM corrected
    JOIN noise USING (node)
),
shifted AS (
    SELECT
        ended.*, CASE WHEN is_wanted THEN offset_ns ELSE 0 END AS shift_ns,
        max(start_ns + shift_ns) OVER (PARTITION BY pair) AS last_shifted_ns
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
    node, root, host_name, offset_ns, n, spread_ns, n_before,
    sum(n_after) OVER in_root <= sum(n_before) OVER in_root AS is_better,
    is_wanted AND is_better AS is_applied,
    CASE WHEN is_better THEN n_after ELSE n_before END AS n_after,
    CASE WHEN is_applied THEN offset_ns ELSE 0 END AS shift_ns
FROM wanted
JOIN early USING (node)
WINDOW in_root AS (PARTITION BY root);

-- Calls with corrected times; is_timed: those of the communicator's ranks can be compared.
CREATE TEMP TABLE timed AS
WITH comparable AS (
    SELECT
        comm_id,
        NOT bool_or(is_over_hosts) OR count(DISTINCT root) = 1 AND bool_and(coalesce(is_applied, false))
            AS is_timed
    FROM communicator
    LEFT JOIN clock ON node = (communicator.dp::BIGINT << 32) + rank
    GROUP BY comm_id
)
SELECT
    called.*, start_ns + coalesce(shift_ns, 0) AS from_ns, end_ns + coalesce(shift_ns, 0) AS until_ns,
    greatest(2000, grain_ns) AS tolerance_ns, is_timed
FROM called
JOIN comparable USING (comm_id)
LEFT JOIN clock ON node = (called.dp::BIGINT << 32) + called.rank;
