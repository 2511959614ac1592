-- Calls paired over ranks by what the traces say, without their times.
--
-- By the Seq of their process group where every rank has it; else k-th to k-th within a stretch, where all
-- ranks have the same implementations in the same order. Stretches of no step have nothing that holds them
-- together over hosts.
--
-- pair: number of one call, the same on all its ranks: the least of their ids.
--
-- Makes: paired.

CREATE TEMP TABLE paired AS
WITH numbered AS (
    SELECT
        *, row_number() OVER (PARTITION BY comm_id, category, seq, file_id ORDER BY start_ns, id) AS nth
    FROM called
    WHERE seq IS NOT NULL AND n_ranks > 1
),
exact AS (
    SELECT id, min(id) OVER same AS pair, count(*) OVER same = n_ranks AS is_whole
    FROM numbered
    WINDOW same AS (PARTITION BY comm_id, category, seq, nth)
),
told AS (
    SELECT
        stretch, file_id, n_ranks, count(*) AS n,
        bit_xor(hash(place, category, coalesce(impl, ''))) AS spelling
    FROM called
    WHERE seq IS NULL AND n_ranks > 1 AND NOT (is_over_hosts AND common_step IS NULL)
    GROUP BY ALL
),
agreed AS (
    SELECT stretch
    FROM told
    GROUP BY stretch, n_ranks
    HAVING count(*) = n_ranks AND min(n) = max(n) AND min(spelling) = max(spelling)
)
SELECT id, pair, 'exact' AS match
FROM exact
WHERE is_whole
UNION ALL
SELECT id, min(id) OVER (PARTITION BY stretch, place), 'order'
FROM called
SEMI JOIN agreed USING (stretch)
WHERE seq IS NULL;
