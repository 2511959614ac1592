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

-- Exposed time: where a category runs alone.
CREATE TEMP TABLE category_time AS
WITH exposed AS (
    SELECT code, sum(end_ns - start_ns)::BIGINT AS exposed_ns
    FROM swept
    WHERE running = 1
    GROUP BY code
    UNION ALL
    SELECT
        piece_group.code,
        sum(least(swept.end_ns, piece.end_ns) - greatest(swept.start_ns, piece.start_ns))::BIGINT
    FROM swept
    JOIN piece
        ON piece.file_id = swept.file_id
        AND piece.start_ns < swept.end_ns AND piece.end_ns > swept.start_ns
    JOIN piece_group
        ON (piece_group.file_id, piece_group.k, piece_group.phase, piece_group.category_id)
        = (piece.file_id, piece.k, piece.phase, piece.category_id)
    WHERE running > 1 AND running * square = swept.category * swept.category
    GROUP BY piece_group.code
),
summed AS (
    SELECT
        piece.file_id, piece.k, phase, category_id,
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
SELECT summed.* EXCLUDE (category_id), category, coalesce(exposed_ns, 0) AS exposed_ns
FROM summed
JOIN piece_group USING (file_id, k, phase, category_id)
JOIN category_code USING (category_id)
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
