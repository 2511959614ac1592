-- Host steps with what their annotation says, and the step each launch belongs to.
--
-- Makes: file_end, host_step, placed_row, placed.

CREATE TEMP TABLE file_end AS
SELECT file_id, max(end_ns) AS end_ns
FROM (
    SELECT file_id, end_ns FROM host_scope
    UNION ALL
    SELECT file_id, start_ns + dur_ns FROM host_call
    UNION ALL
    SELECT file_id, end_ns FROM work WHERE launch_ns IS NULL AND at_ns IS NOT NULL
)
GROUP BY file_id;

CREATE TEMP TABLE host_step AS
WITH cut AS (
    SELECT
        file_id, begin_ns, is_dummy,
        row_number() OVER in_file - 1 AS k,
        coalesce(lead(begin_ns) OVER in_file, end_ns) AS end_ns,
        lead(begin_ns) OVER in_file IS NULL AS is_last
    FROM (FROM step_begin UNION FROM dummy_begin)
    JOIN file_end USING (file_id)
    WINDOW in_file AS (PARTITION BY file_id ORDER BY begin_ns)
),
said AS (
    SELECT
        cut.file_id, k,
        arg_min(name, start_ns) FILTER (role = 'execute') AS execute_name,
        max(host_scope.end_ns) FILTER (role = 'execute') AS execute_end_ns,
        arg_min(name, start_ns) FILTER (
            role = 'target_pass' AND regexp_matches(name, 'EXTEND|DECODE|MIXED|VERIFY|IDLE')
        ) AS pass_name,
        arg_min(name, start_ns) FILTER (role = 'profiler_step') AS profiler_name,
        bool_or(contains(name, 'VERIFY')) FILTER (role = 'target_pass') AS has_verify_span
    FROM host_scope
    ASOF JOIN cut ON host_scope.file_id = cut.file_id AND start_ns >= begin_ns
    GROUP BY ALL
),
read AS (
    SELECT
        cut.*, said.* EXCLUDE (file_id, k),
        regexp_extract(
            execute_name,
            '^execute_(?:\d+_)?context_(\d+)\((?:sq)?(\d+)[^)]*\)_generation_(\d+)\((?:sq)?(\d+)[^)]*\)$',
            ['c', 'ct', 'g', 'gt']
        ) AS counts,
        regexp_extract(execute_name, '^execute_new_(\d+)_cached_(\d+)$', ['c', 'g']) AS old_counts,
        -- SGLang's step[DECODE bs=4], step[EXTEND bs=2 toks=384]; a VERIFY tells no tokens.
        regexp_extract(
            pass_name, '^step\[\w*(EXTEND|DECODE|VERIFY)\w* bs=(\d+)(?: toks=(\d+))?',
            ['mode', 'bs', 'toks']
        ) AS pass
    FROM cut
    LEFT JOIN said USING (file_id, k)
)
SELECT
    file_id, k, begin_ns, end_ns, is_last, is_dummy, execute_end_ns,
    coalesce(execute_name, pass_name, profiler_name) AS annotation,
    execute_name, pass_name, has_verify_span,
    coalesce(
        try_cast(counts.c AS INTEGER), try_cast(old_counts.c AS INTEGER),
        CASE WHEN pass.mode = 'EXTEND' THEN try_cast(pass.bs AS INTEGER) WHEN pass.mode != '' THEN 0 END
    ) AS n_prefill_reqs,
    coalesce(
        try_cast(counts.ct AS INTEGER),
        CASE WHEN pass.mode = 'EXTEND' THEN try_cast(pass.toks AS INTEGER) WHEN pass.mode != '' THEN 0 END
    ) AS n_prefill_tokens,
    coalesce(
        try_cast(counts.g AS INTEGER), try_cast(old_counts.g AS INTEGER),
        CASE WHEN pass.mode = 'EXTEND' THEN 0 WHEN pass.mode != '' THEN try_cast(pass.bs AS INTEGER) END
    ) AS n_decode_reqs,
    coalesce(
        try_cast(counts.gt AS INTEGER),
        CASE pass.mode WHEN 'EXTEND' THEN 0 WHEN 'DECODE' THEN try_cast(pass.bs AS INTEGER) END
    ) AS n_decode_tokens
FROM read;

CREATE TEMP TABLE placed_row AS
SELECT
    launch_row.* EXCLUDE (start_ns, stream, n, kernel_ns, graph_id, scope),
    k, begin_ns, execute_end_ns, host_step.is_dummy
FROM launch_row
ASOF JOIN host_step
    ON launch_row.file_id = host_step.file_id AND at_ns >= begin_ns;

CREATE TEMP VIEW placed AS FROM spelled('placed_row');
