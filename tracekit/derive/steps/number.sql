-- Step numbers: the same on all ranks of a data-parallel engine, from 0 = the earliest any rank has.
--
-- Each file is shifted against one file of reference. On one host the clock proposes shifts and the
-- annotations choose. Between hosts clocks may be steps apart: equal sequences go k-th to k-th; else a
-- shift must make all annotations of at least half the shorter sequence agree, and be the only one or
-- the one under which the collectives overlap. A file without such a shift gets no numbers.
--
-- Makes: sequence, shifted, step_number, ledger.

CREATE TEMP TABLE sequence AS
WITH collected AS (
    SELECT file_id, k, min(start_ns) AS collective_from_ns, max(end_ns) AS collective_until_ns
    FROM attributed
    JOIN category_code USING (category_id)
    WHERE category IN (SELECT category FROM signature WHERE is_collective)
    GROUP BY ALL
)
SELECT
    file_id, dp, coalesce(stage, '') AS stage, host_name, k, annotation,
    coalesce(first_ns, begin_ns) AS at_ns, collective_from_ns, collective_until_ns,
    count(*) OVER (PARTITION BY file_id) AS n
FROM host_step
JOIN file USING (file_id)
LEFT JOIN step_work USING (file_id, k)
LEFT JOIN collected USING (file_id, k);

CREATE TEMP TABLE shifted AS
WITH spelled AS (
    SELECT
        file_id, dp, stage, host_name, n,
        md5(string_agg(coalesce(annotation, ''), chr(10) ORDER BY k)) AS spelling
    FROM sequence
    GROUP BY ALL
),
reference AS (
    SELECT DISTINCT ON (dp, stage)
        dp, stage, file_id AS ref_id, host_name AS ref_host, spelling AS ref_spelling
    FROM spelled
    ORDER BY dp, stage, n DESC, file_id
),
-- The reference itself, and on another host one that has all its steps, need no search.
known AS (
    SELECT file_id, ref_id, 0 AS shift
    FROM spelled
    JOIN reference USING (dp, stage)
    WHERE file_id = ref_id OR (host_name IS DISTINCT FROM ref_host AND spelling = ref_spelling)
),
member AS (
    SELECT sequence.*, ref_id, ref_host IS NOT DISTINCT FROM host_name AS is_same_host
    FROM sequence
    JOIN reference USING (dp, stage)
    WHERE file_id NOT IN (SELECT file_id FROM known)
),
-- Each step proposes the reference's steps before and after it, in both directions of looking back.
vote AS (
    SELECT member.file_id, member.ref_id, ref.k + nudge - member.k AS shift
    FROM member
    ASOF JOIN sequence AS ref ON member.ref_id = ref.file_id AND member.at_ns >= ref.at_ns
    CROSS JOIN (VALUES (0), (1)) AS nudges (nudge)
    WHERE is_same_host
    UNION ALL
    SELECT pair.file_id, ref_id, pair.k - member.k - nudge
    FROM (
        SELECT members.file_id, ref.k, ref.at_ns
        FROM sequence AS ref
        JOIN (SELECT DISTINCT file_id, ref_id FROM member) AS members ON ref_id = ref.file_id
    ) AS pair
    ASOF JOIN member ON pair.file_id = member.file_id AND pair.at_ns >= member.at_ns
    CROSS JOIN (VALUES (0), (1)) AS nudges (nudge)
    WHERE is_same_host
),
-- Scoring a shift costs a pass over the steps, so few are: the most proposed on one host, and
-- between hosts what a start of profiling some steps apart can come to.
proposed AS (
    SELECT file_id, ref_id, shift
    FROM vote
    GROUP BY file_id, ref_id, shift
    QUALIFY row_number() OVER (PARTITION BY file_id ORDER BY count(*) DESC, abs(shift), shift) <= 8
    UNION ALL
    SELECT DISTINCT file_id, ref_id, shift
    FROM member
    CROSS JOIN (SELECT unnest(range(-64, 65)) AS shift)
    WHERE NOT is_same_host
),
paired AS (
    SELECT proposed.file_id, proposed.ref_id, shift, k + shift AS ref_k, member.* EXCLUDE (file_id, ref_id)
    FROM proposed
    JOIN member USING (file_id)
),
scored AS (
    SELECT
        paired.file_id, shift, is_same_host,
        2 * count(*) >= least(paired.n, ref.n) AS is_half,
        -- On one host a step without annotation contradicts nothing: the clock is enough.
        avg((
            paired.annotation IS NOT DISTINCT FROM ref.annotation
            OR is_same_host AND (paired.annotation IS NULL OR ref.annotation IS NULL)
        )::INTEGER) AS agreement,
        avg(abs(paired.at_ns - ref.at_ns)) AS apart_ns,
        avg(coalesce(
            paired.collective_from_ns < ref.collective_until_ns
            AND ref.collective_from_ns < paired.collective_until_ns, false
        )::INTEGER) AS overlapping
    FROM paired
    JOIN sequence AS ref ON (ref.file_id, ref.k) = (paired.ref_id, ref_k)
    GROUP BY paired.file_id, shift, is_same_host, paired.n, ref.n
),
eligible AS (
    SELECT *, count(*) OVER (PARTITION BY file_id) AS choices
    FROM scored
    WHERE CASE WHEN is_same_host THEN agreement > 0.5 ELSE agreement = 1 AND is_half END
)
SELECT file_id, shift
FROM known
UNION ALL
(
    SELECT DISTINCT ON (file_id) file_id, shift
    FROM eligible
    WHERE is_same_host OR choices = 1 OR overlapping > 0.5
    ORDER BY
        file_id, agreement DESC, CASE WHEN is_same_host THEN apart_ns ELSE -overlapping END, shift
);

INSERT INTO ledger
SELECT
    $run, file_id, 'steps that match no steps of the other ranks (kept, without a number)', NULL, NULL, 0,
    any_value(annotation), true
FROM sequence
WHERE file_id NOT IN (SELECT file_id FROM shifted)
GROUP BY file_id;

-- Files profiled by stage follow one another: a later stage's numbers start where the earlier's end.
CREATE TEMP TABLE step_number AS
WITH counted AS (
    SELECT dp, stage, file_id, k, at_ns, k + shift AS place
    FROM sequence
    JOIN shifted USING (file_id)
),
staged AS (
    SELECT dp, stage, min(place) AS first_place, max(place) - min(place) + 1 AS n, min(at_ns) AS at_ns
    FROM counted
    GROUP BY ALL
),
based AS (
    SELECT
        dp, stage, first_place,
        coalesce(sum(n) OVER (
            PARTITION BY dp ORDER BY at_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS base
    FROM staged
)
SELECT file_id, k, (place - first_place + base)::INTEGER AS step
FROM counted
JOIN based USING (dp, stage);
