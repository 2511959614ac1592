-- Step and phase of every activity, through its launch.
--
-- An activity whose launch is missing is placed only between two linked ones of the same step on
-- its stream, so never at the head of a trace. Its phase is theirs where they agree.

CREATE TEMP TABLE linked AS
SELECT
    work.rowid AS id, work.*, k, scope, phase, phase_source,
    CASE
        WHEN device_kind = 'cpu' THEN 'host'
        WHEN launch_ns IS NOT NULL THEN 'launch'
        WHEN work.at_ns IS NOT NULL AND k IS NOT NULL THEN 'order'
        ELSE 'none'
    END AS link
FROM work
LEFT JOIN launch
    ON work.file_id = launch.file_id AND coalesce(correlation, -1 - work.rowid) = launch.launch_id
LEFT JOIN launch_phase
    ON launch.file_id = launch_phase.file_id AND launch.launch_id = launch_phase.launch_id;

CREATE TEMP TABLE orphan AS
WITH around AS (
    SELECT
        id, at_ns,
        last_value(CASE WHEN at_ns IS NOT NULL THEN {'k': k, 'phase': phase, 'source': phase_source} END IGNORE NULLS)
            OVER (in_stream ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
        first_value(CASE WHEN at_ns IS NOT NULL THEN {'k': k, 'phase': phase, 'source': phase_source} END IGNORE NULLS)
            OVER (in_stream ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS after
    FROM linked
    WHERE file_id IN (SELECT file_id FROM linked WHERE at_ns IS NULL)
    WINDOW in_stream AS (PARTITION BY file_id, device, stream ORDER BY start_ns, end_ns, id)
)
SELECT
    id, before.k AS k,
    CASE WHEN before.phase = after.phase THEN before.phase ELSE 'other' END AS phase,
    CASE WHEN before.phase = after.phase THEN before.source ELSE 'none' END AS phase_source
FROM around
WHERE at_ns IS NULL AND before.k = after.k;

CREATE TEMP TABLE attributed AS
SELECT
    linked.* REPLACE (
        coalesce(linked.k, orphan.k) AS k,
        coalesce(linked.phase, orphan.phase, 'other') AS phase,
        coalesce(linked.phase_source, orphan.phase_source, 'none') AS phase_source,
        CASE WHEN orphan.id IS NOT NULL THEN 'order' ELSE link END AS link
    )
FROM linked
LEFT JOIN orphan USING (id);
