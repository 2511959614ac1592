-- Host time of the phases, and which steps the end of profiling cut.
--
-- Spans that are open when profiling stops are not written, so a cut step is seen by what it lacks:
-- it is the last of its file and misses a phase that every other step of its kind has.
--
-- Makes: phase_host, cut_step.

-- Host time of a phase: its scopes less what inner scopes of other phases take. Where a scope of the
-- plugin is open, the engine's do not count.
CREATE TEMP TABLE phase_host AS
WITH opened AS (
    SELECT file_id, thread, from_ns, coalesce(value, '') AS plugin, NULL AS engine
    FROM innermost('plugin_scope')
    UNION ALL
    SELECT file_id, thread, from_ns, NULL, coalesce(value, '')
    FROM innermost('phase_scope')
),
told AS (
    SELECT
        *,
        nullif(last_value(plugin IGNORE NULLS) OVER so_far, '') AS plugin_phase,
        nullif(last_value(engine IGNORE NULLS) OVER so_far, '') AS engine_phase
    FROM opened
    WINDOW so_far AS (
        PARTITION BY file_id, thread ORDER BY from_ns
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),
segment AS (
    SELECT
        file_id, coalesce(plugin_phase, engine_phase) AS phase, from_ns,
        CASE WHEN plugin_phase IS NOT NULL THEN 'plugin' ELSE 'engine' END::phase_source AS source,
        lead(from_ns) OVER (PARTITION BY file_id, thread ORDER BY from_ns) AS until_ns
    FROM told
)
SELECT
    segment.file_id, k,
    CASE
        WHEN phase IN ('forward', 'pass') THEN CASE WHEN is_verify THEN 'verify' ELSE 'forward' END
        ELSE phase
    END AS phase,
    min(from_ns) AS host_start_ns, sum(until_ns - from_ns)::BIGINT AS host_dur_ns,
    min(source) AS host_source
FROM segment
ASOF JOIN step_fact ON segment.file_id = step_fact.file_id AND from_ns >= begin_ns
WHERE phase IS NOT NULL
GROUP BY ALL;

CREATE TEMP TABLE cut_step AS
WITH seen AS (
    SELECT file_id, k, phase FROM launch_phase
    UNION
    SELECT file_id, k, phase FROM phase_host
),
peer AS (
    SELECT
        file_id, k, is_last, phase,
        {
            'prefills': n_prefill_reqs > 0, 'decodes': n_decode_reqs > 0,
            'has_pass': pass_name IS NOT NULL, 'verifies': is_verify
        } AS kind
    FROM step_fact
    JOIN seen USING (file_id, k)
),
usual AS (
    SELECT file_id, kind, phase
    FROM peer
    WHERE NOT is_last
    GROUP BY ALL
    HAVING count(*) = (
        SELECT count(DISTINCT other.k)
        FROM peer AS other
        WHERE other.file_id = peer.file_id AND other.kind = peer.kind AND NOT other.is_last
    )
)
SELECT DISTINCT last_step.file_id, last_step.k
FROM (SELECT DISTINCT file_id, k, kind FROM peer WHERE is_last) AS last_step
JOIN usual ON usual.file_id = last_step.file_id AND usual.kind = last_step.kind
ANTI JOIN seen ON seen.file_id = last_step.file_id AND seen.k = last_step.k AND seen.phase = usual.phase;
