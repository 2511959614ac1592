-- Time of the activities attributed to each step, by phase and by category.
--
-- busy: union over all streams. exposed: the part of it in which no other category of the file runs.
-- overhang: the part of it outside the step's window. Grains are kept by (file_id, k) until the end.
--
-- Makes: phase_time, category_time, step_category, step_phase.

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
    min(phase_source) AS phase_source   -- the best: the type lists them best first
FROM reached
GROUP BY ALL;

-- Exposed time: where a category runs alone.
CREATE TEMP TABLE category_time AS
WITH alone AS (
    SELECT file_id, code, end_ns - start_ns AS exposed_ns
    FROM swept
    WHERE running = 1
    UNION ALL
    SELECT
        piece.file_id, piece.code,
        least(swept.end_ns, piece.end_ns) - greatest(swept.start_ns, piece.start_ns)
    FROM swept
    JOIN piece
        ON piece.file_id = swept.file_id
        AND piece.start_ns < swept.end_ns AND piece.end_ns > swept.start_ns
    WHERE running > 1 AND is_one_category
),
exposed AS (
    SELECT file_id, code, sum(exposed_ns)::BIGINT AS exposed_ns
    FROM alone
    GROUP BY ALL
),
summed AS (
    SELECT
        piece.file_id, piece.k, code, category_id,
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
SELECT
    summed.* EXCLUDE (code, category_id), category, coalesce(exposed_ns, 0) AS exposed_ns,
    enum_range(NULL::phase)[code // 64 % 8 + 1] AS phase
FROM summed
JOIN category_code USING (category_id)
LEFT JOIN exposed USING (file_id, code);

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
    $run, dp, rank, step, phase, phase_time.start_ns,
    coalesce(n, 0), coalesce(sum_ns, 0), coalesce(busy_ns, 0),
    coalesce(host_start_ns, first_launch.at_ns), host_dur_ns,
    coalesce(phase_source, host_source)
FROM phase_time
FULL JOIN phase_host USING (file_id, k, phase)
LEFT JOIN first_launch USING (file_id, k, phase)
JOIN step_number USING (file_id, k)
JOIN file USING (file_id)
ORDER BY ALL;
