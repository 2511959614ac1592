-- Scopes ready for `innermost`: those that name a phase (the engine's, the plugin's), mark compiled code,
-- and all annotations.
--
-- SGLang nests: whatever runs inside draft or draft_extend drafts, also a step[...] of the same
-- name as the target's (before 0.5.23). `pass` is a target pass, whose head is input preparation.
--
-- Makes: sglang_pass, phase_scope, plugin_scope, compiled_scope, annotation.

CREATE TEMP TABLE sglang_pass AS
WITH span AS (
    SELECT
        *,
        max(CASE WHEN role IN ('draft', 'draft_extend') THEN end_ns END) OVER (
            PARTITION BY file_id, thread
            ORDER BY start_ns, end_ns DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS drafting_until_ns
    FROM host_scope
    WHERE role IN ('draft', 'draft_extend', 'draft_pass', 'target_pass')
        AND file_id IN (SELECT file_id FROM host_scope WHERE role IN ('draft_pass', 'target_pass'))
)
SELECT
    file_id, thread, start_ns, end_ns, name, role,
    coalesce(start_ns < drafting_until_ns, false) AS is_inner,
    CASE WHEN role = 'target_pass' AND NOT is_inner THEN 'pass' ELSE 'draft' END AS value
FROM span;

CREATE TEMP TABLE phase_scope AS
SELECT file_id, thread, start_ns, end_ns, phase AS value
FROM host_scope
WHERE phase IS NOT NULL
UNION ALL
SELECT file_id, thread, start_ns, end_ns, value
FROM sglang_pass;

CREATE TEMP TABLE plugin_scope AS
SELECT file_id, thread, start_ns, end_ns, plugin_phase AS value
FROM host_scope
WHERE plugin_phase IS NOT NULL;

CREATE TEMP TABLE compiled_scope AS
SELECT file_id, thread, start_ns, end_ns, name AS value
FROM host_scope
WHERE role = 'compiled';

CREATE TEMP TABLE annotation AS
SELECT file_id, thread, start_ns, end_ns, name AS value
FROM host_scope
WHERE NOT is_op;
