-- Calls paired by their times, where counting does not tell which belong together.
--
-- That is so where ranks have different numbers of calls, as one lost events or its window is another, and
-- where calls that counting paired did not run at the same time: one rank ended before another had begun.
-- Of two ranks, calls are the same if each one's end is the nearest to the other's and they overlap. All are
-- compared with the rank that has most; a call that some rank lacks stays unmatched.
--
-- Needs times that can be compared: of one host, or corrected over hosts. Where hardly a call was lost and
-- counting contradicts the times again and again, the clocks are at fault: then times pair nothing, and tell
-- no waits.
--
-- Makes: impossible, timed, refused, aligned, matching.

CREATE TEMP TABLE impossible AS
SELECT comm_id, pair, match, any_value(stretch) AS stretch
FROM timed
JOIN paired USING (id)
WHERE is_blocking AND is_timed
GROUP BY comm_id, pair, match
HAVING max(from_ns) > min(until_ns) + max(tolerance_ns);

UPDATE timed
SET is_timed = false
FROM (
    SELECT comm_id
    FROM timed
    LEFT JOIN paired USING (id)
    LEFT JOIN impossible USING (comm_id, pair)
    WHERE is_blocking
    GROUP BY comm_id
    HAVING count(DISTINCT if(impossible.match = 'exact', impossible.pair, impossible.stretch)) >= 3
        AND count(impossible.pair) > greatest(0.1 * count(*), 4 * count_if(paired.pair IS NULL))
) AS faulty
WHERE timed.comm_id = faulty.comm_id;

CREATE TEMP TABLE refused AS
SELECT DISTINCT stretch
FROM impossible
WHERE match = 'order' AND comm_id IN (SELECT comm_id FROM timed WHERE is_timed);

CREATE TEMP TABLE aligned AS
WITH pool AS (
    SELECT *
    FROM timed
    WHERE n_ranks > 1 AND seq IS NULL AND is_timed AND (is_blocking OR category IN ('all_to_all', 'barrier'))
        AND (id NOT IN (SELECT id FROM paired) OR stretch IN (FROM refused))
),
reference AS (
    SELECT comm_id, arg_max(file_id, (n, -file_id)) AS file_id
    FROM (SELECT comm_id, file_id, count(*) AS n FROM pool GROUP BY ALL)
    GROUP BY comm_id
),
ref AS (FROM pool SEMI JOIN reference USING (comm_id, file_id)),
other AS (FROM pool ANTI JOIN reference USING (comm_id, file_id)),
near AS (
    SELECT other.id, ref.id AS ref_id
    FROM other
    ASOF JOIN ref
        ON other.comm_id = ref.comm_id AND other.category = ref.category AND other.until_ns >= ref.until_ns
    UNION
    SELECT other.id, ref.id
    FROM other
    ASOF JOIN ref
        ON other.comm_id = ref.comm_id AND other.category = ref.category AND other.until_ns <= ref.until_ns
),
mutual AS (
    SELECT
        other.id, ref_id, other.comm_id, other.file_id, other.tolerance_ns,
        abs(other.until_ns - ref.until_ns) AS apart_ns
    FROM near
    JOIN other ON other.id = near.id
    JOIN ref ON ref.id = near.ref_id
    WHERE other.from_ns < ref.until_ns + ref.tolerance_ns AND ref.from_ns < other.until_ns + ref.tolerance_ns
        AND other.impl IS NOT DISTINCT FROM ref.impl
    QUALIFY
        row_number() OVER (PARTITION BY other.id ORDER BY apart_ns, ref.id) = 1
        AND row_number() OVER (PARTITION BY ref.id, other.file_id ORDER BY apart_ns, other.id) = 1
),
-- Where clocks are off by more than could be found, the nearest is a stranger: ends lie apart throughout.
sure AS (
    SELECT *
    FROM mutual
    QUALIFY (SELECT backend FROM backend) = 'cpu'
        OR median(apart_ns) OVER (PARTITION BY comm_id, file_id) <= 5 * tolerance_ns
),
member AS (
    SELECT id, ref_id FROM sure
    UNION ALL
    SELECT DISTINCT ref_id, ref_id FROM sure
)
SELECT member.id, min(member.id) OVER same AS pair
FROM member
JOIN pool USING (id)
WINDOW same AS (PARTITION BY ref_id)
QUALIFY count(*) OVER same = n_ranks;

CREATE TEMP TABLE matching AS
SELECT id, pair, match, false AS is_aligned
FROM paired
JOIN called USING (id)
WHERE match = 'exact' OR stretch NOT IN (FROM refused)
UNION ALL
SELECT id, pair, 'order', true
FROM aligned;
