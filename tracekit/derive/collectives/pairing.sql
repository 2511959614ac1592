-- Calls paired over ranks by what the traces say, without their times.
--
-- By the Seq of their process group where they have it; else k-th to k-th within a stretch, among ranks that
-- have the same implementations in the same order. A Seq that repeats, and a group that has more ranks than
-- it says, are no proof: what they pair is `order`. Stretches of no step have nothing that holds them
-- together over hosts.
--
-- key     what the calls of one collective have in common on all its ranks
-- pair    number of one collective, the same on all its ranks: the least of its calls' ids
--
-- Makes: keyed, paired.

CREATE TEMP TABLE keyed AS
WITH told AS (
    SELECT stretch, file_id, count(*) AS n, bit_xor(hash(place, category, coalesce(impl, ''))) AS spelling
    FROM called
    WHERE seq IS NULL AND n_ranks > 1 AND NOT (is_over_hosts AND common_step IS NULL)
    GROUP BY ALL
)
SELECT
    id, n_ranks,
    CASE WHEN bool_or(is_repeated OR is_contradicted) OVER numbered THEN 'order' ELSE 'exact' END AS match,
    hash(comm_id, category, seq, row_number() OVER (
        PARTITION BY comm_id, category, seq, file_id ORDER BY start_ns, id
    )) AS key
FROM called
WHERE seq IS NOT NULL AND n_ranks > 1
WINDOW numbered AS (PARTITION BY comm_id, category, seq)
UNION ALL
SELECT id, n_ranks, 'order', hash(stretch, place, n, spelling)
FROM called
JOIN told USING (stretch, file_id)
WHERE seq IS NULL;

CREATE TEMP TABLE paired AS
SELECT id, match, min(id) OVER same AS pair
FROM keyed
WINDOW same AS (PARTITION BY key)
QUALIFY count(*) OVER same = n_ranks;
