-- Step and phase of every activity, through its launch.
--
-- An activity whose launch is missing is placed only between two linked ones of the same step on
-- its stream, so never at the head of a trace. Its phase is theirs where they agree.
--
-- Makes: attributed.

CREATE TEMP TABLE attributed AS
SELECT
    work.* EXCLUDE (graph_id, is_graph), k,
    coalesce(phase, 'other')::phase AS phase,
    coalesce(phase_source, 'none')::phase_source AS phase_source,
    CASE
        WHEN backend = 'cpu' THEN 'host'
        WHEN launch_ns IS NOT NULL THEN 'launch'
        WHEN k IS NOT NULL THEN 'order'
        ELSE 'none'
    END AS link
FROM work
LEFT JOIN launch_phase USING (file_id, launch_id)
CROSS JOIN backend;

WITH told AS (
    SELECT
        id, file_id, device, stream, start_ns, end_ns, at_ns IS NULL AS is_orphan,
        CASE WHEN at_ns IS NOT NULL THEN {'k': k, 'phase': phase, 'source': phase_source} END AS place
    FROM attributed
    WHERE file_id IN (SELECT file_id FROM attributed WHERE at_ns IS NULL)
),
around AS (
    SELECT
        id, is_orphan,
        last_value(place IGNORE NULLS) OVER (
            in_stream ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before,
        first_value(place IGNORE NULLS) OVER (
            in_stream ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        ) AS after
    FROM told
    WINDOW in_stream AS (PARTITION BY file_id, device, stream ORDER BY start_ns, end_ns, id)
)
UPDATE attributed SET
    k = before.k,
    phase = CASE WHEN before.phase = after.phase THEN before.phase ELSE 'other' END,
    phase_source = CASE WHEN before.phase = after.phase THEN before.source ELSE 'none' END,
    link = 'order'
FROM around
WHERE attributed.id = around.id AND is_orphan AND before.k = after.k;
