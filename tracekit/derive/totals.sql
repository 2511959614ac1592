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

CREATE TEMP TABLE piece AS
WITH reached AS (
    SELECT
        file_id, k, phase, category, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY file_id, k, phase, category ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM attributed
)
-- The part of each activity that its group has not covered before; pieces of a group never overlap.
SELECT
    file_id, k, phase, category, start_ns AS activity_ns, end_ns - start_ns AS dur_ns,
    greatest(start_ns, coalesce(reached_ns, start_ns)) AS start_ns,
    greatest(end_ns, coalesce(reached_ns, end_ns)) AS end_ns
FROM reached;

-- Stretches of time in which activities of exactly one category run, with the exposed time of that
-- category before each. Pieces of one category may still overlap (neighbouring steps), so they are
-- merged first.
CREATE TEMP TABLE exposed AS
WITH reached AS (
    SELECT
        file_id, category, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY file_id, category ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM piece
    WHERE end_ns > start_ns
),
edge AS (
    SELECT file_id, category, greatest(start_ns, coalesce(reached_ns, start_ns)) AS at_ns, 1 AS delta
    FROM reached
    WHERE end_ns > coalesce(reached_ns, start_ns)
    UNION ALL
    SELECT file_id, category, end_ns, -1
    FROM reached
    WHERE end_ns > coalesce(reached_ns, start_ns)
),
category_code AS (
    SELECT category, row_number() OVER (ORDER BY category) AS code
    FROM (SELECT DISTINCT category FROM piece)
),
moment AS (
    SELECT file_id, at_ns, sum(delta) AS delta, sum(delta * code) AS code_delta
    FROM edge
    JOIN category_code USING (category)
    GROUP BY ALL
),
swept AS (
    SELECT
        file_id, at_ns AS start_ns,
        lead(at_ns) OVER in_time AS end_ns,
        sum(delta) OVER in_time AS running,
        -- While one category runs alone the running sum of signed codes is its code.
        sum(code_delta) OVER in_time AS code
    FROM moment
    WINDOW in_time AS (PARTITION BY file_id ORDER BY at_ns)
)
SELECT
    file_id, category, start_ns, end_ns,
    coalesce(sum(end_ns - start_ns) OVER (
        PARTITION BY file_id, category ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0)::BIGINT AS before_ns
FROM swept
JOIN category_code USING (code)
WHERE running = 1;

CREATE TEMP TABLE category_time AS
WITH edge AS (
    SELECT file_id, k, phase, category, start_ns AS at_ns, -1 AS sign
    FROM piece
    WHERE k IS NOT NULL AND end_ns > start_ns
    UNION ALL
    SELECT file_id, k, phase, category, end_ns, 1
    FROM piece
    WHERE k IS NOT NULL AND end_ns > start_ns
),
alone AS (
    SELECT
        edge.file_id, k, phase, edge.category,
        sum(sign * coalesce(before_ns + least(at_ns, end_ns) - start_ns, 0))::BIGINT AS exposed_ns
    FROM edge
    ASOF LEFT JOIN exposed
        ON edge.file_id = exposed.file_id AND edge.category = exposed.category
        AND edge.at_ns >= exposed.start_ns
    GROUP BY ALL
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
    WHERE piece.k IS NOT NULL
    GROUP BY ALL
)
SELECT summed.*, coalesce(exposed_ns, 0) AS exposed_ns
FROM summed
LEFT JOIN alone USING (file_id, k, phase, category);

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
