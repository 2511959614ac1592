-- Time of the activities attributed to each step, by phase and by category.
--
-- busy: union over all streams. exposed: the part of it in which no other category of the file runs.
-- overhang: the part of it outside the step's window. Grains are kept by (file_id, k) until the end.

CREATE TEMP TABLE phase_time AS
WITH reached AS (
    SELECT
        file_id, k, phase, phase_source, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY file_id, k, phase ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM attributed
    WHERE k IS NOT NULL
)
SELECT
    file_id, k, phase,
    min(start_ns) AS start_ns, count(*) AS n, sum(end_ns - start_ns)::BIGINT AS sum_ns,
    sum(greatest(0, end_ns - greatest(start_ns, coalesce(reached_ns, start_ns))))::BIGINT AS busy_ns,
    min(list_position(['plugin', 'engine', 'span', 'kernels', 'graph', 'none'], phase_source)) AS source
FROM reached
GROUP BY ALL;

-- The part of each activity that its group has not covered before: pieces of a group never overlap.
CREATE TEMP TABLE piece AS
WITH reached AS (
    SELECT
        file_id, coalesce(k, -1) AS k, phase, category, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY file_id, k, phase, category ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM attributed
)
SELECT
    file_id, k, phase, category, end_ns - start_ns AS dur_ns,
    greatest(start_ns, coalesce(reached_ns, start_ns)) AS start_ns,
    greatest(end_ns, coalesce(reached_ns, end_ns)) AS end_ns
FROM reached;

CREATE TEMP TABLE piece_group AS
SELECT
    *,
    row_number() OVER () AS code,
    dense_rank() OVER (ORDER BY category) AS category_code
FROM (SELECT DISTINCT file_id, k, phase, category FROM piece);

-- Stretches of time in which exactly one category runs. While one group runs alone the running sum
-- of signed codes is its code; groups of one category may overlap where steps do.
CREATE TEMP TABLE alone AS
WITH coded AS (
    SELECT file_id, start_ns, end_ns, code, category_code
    FROM piece
    JOIN piece_group USING (file_id, k, phase, category)
    WHERE end_ns > start_ns
),
edge AS (
    SELECT file_id, start_ns AS at_ns, 1 AS delta, code, category_code FROM coded
    UNION ALL
    SELECT file_id, end_ns, -1, code, category_code FROM coded
),
moment AS (
    SELECT
        file_id, at_ns,
        sum(delta) AS delta, sum(delta * code) AS code,
        sum(delta * category_code) AS category, sum(delta * category_code * category_code) AS category_square
    FROM edge
    GROUP BY ALL
),
swept AS (
    SELECT
        file_id, at_ns AS start_ns,
        lead(at_ns) OVER in_time AS end_ns,
        sum(delta) OVER in_time AS running,
        sum(code) OVER in_time AS code,
        sum(category) OVER in_time AS category,
        sum(category_square) OVER in_time AS category_square
    FROM moment
    WINDOW in_time AS (PARTITION BY file_id ORDER BY at_ns)
)
SELECT file_id, start_ns, end_ns, running, code
FROM swept
-- All running pieces have one category where the mean of the squares is the square of the mean.
WHERE running > 0 AND running * category_square = category * category;

CREATE TEMP TABLE category_time AS
WITH exposed AS (
    SELECT code, sum(end_ns - start_ns)::BIGINT AS exposed_ns
    FROM alone
    WHERE running = 1
    GROUP BY code
    UNION ALL
    SELECT
        piece_group.code,
        sum(least(alone.end_ns, piece.end_ns) - greatest(alone.start_ns, piece.start_ns))::BIGINT
    FROM alone
    JOIN piece
        ON piece.file_id = alone.file_id
        AND piece.start_ns < alone.end_ns AND piece.end_ns > alone.start_ns
    JOIN piece_group
        ON (piece_group.file_id, piece_group.k, piece_group.phase, piece_group.category)
        = (piece.file_id, piece.k, piece.phase, piece.category)
    WHERE running > 1
    GROUP BY piece_group.code
),
summed AS (
    SELECT
        piece.file_id, piece.k, phase, category,
        count(*) AS n, sum(dur_ns)::BIGINT AS sum_ns,
        sum(piece.end_ns - piece.start_ns)::BIGINT AS busy_ns,
        sum(
            piece.end_ns - piece.start_ns
            - greatest(0, least(piece.end_ns, stop_ns) - greatest(piece.start_ns, step_window.start_ns))
        )::BIGINT AS overhang_ns
    FROM piece
    LEFT JOIN step_window ON piece.file_id = step_window.file_id AND piece.k = step_window.k
    WHERE piece.k >= 0
    GROUP BY ALL
)
SELECT summed.*, coalesce(exposed_ns, 0) AS exposed_ns
FROM summed
JOIN piece_group USING (file_id, k, phase, category)
LEFT JOIN (SELECT code, sum(exposed_ns)::BIGINT AS exposed_ns FROM exposed GROUP BY code) USING (code);

INSERT INTO step_category
SELECT
    $run, dp, rank, step, phase, category, n, sum_ns, busy_ns, exposed_ns, coalesce(overhang_ns, busy_ns)
FROM category_time
JOIN step_number USING (file_id, k)
JOIN file USING (file_id)
ORDER BY ALL;

INSERT INTO step_phase
WITH first_launch AS (
    SELECT placed.file_id, placed.k, phase, min(at_ns) AS at_ns
    FROM placed
    JOIN launch_phase USING (file_id, launch_id)
    WHERE thread IS NOT NULL
    GROUP BY ALL
)
SELECT
    $run, dp, rank, step, phase, phase_time.start_ns, coalesce(n, 0), coalesce(sum_ns, 0), coalesce(busy_ns, 0),
    coalesce(host_start_ns, first_launch.at_ns), host_dur_ns,
    coalesce(['plugin', 'engine', 'span', 'kernels', 'graph', 'none'][source], 'engine')
FROM phase_time
FULL JOIN phase_host USING (file_id, k, phase)
LEFT JOIN first_launch USING (file_id, k, phase)
JOIN step_number USING (file_id, k)
JOIN file USING (file_id)
ORDER BY ALL;
