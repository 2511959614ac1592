-- What the traces tell of the run, where its context does not.
--
-- Makes: run.

UPDATE run SET
    backend = CASE
        WHEN EXISTS (FROM file WHERE kind = 'trace') THEN (SELECT backend FROM backend)
        ELSE 'unknown'
    END,
    gpu = (
        SELECT first(
            nullif(metadata ->> '$.deviceProperties[0].name', '') ORDER BY rank NULLS LAST, file_id
        )
        FROM file
        WHERE kind = 'trace'
    );

-- A statement of its own: DuckDB plans for long over many subqueries in one.
UPDATE run SET
    engine = coalesce(engine, (
        SELECT CASE
            WHEN bool_or(role IN ('target_pass', 'draft_pass', 'run_batch')) THEN 'sglang'
            WHEN bool_or(role IN ('execute', 'old_step')) THEN 'vllm'
        END
        FROM host_scope
    ), (SELECT CASE WHEN bool_or(has_v2) THEN 'vllm' END FROM habit),
    (SELECT CASE WHEN count(*) > 0 THEN 'torch' END FROM host_scope WHERE role = 'profiler_step')),
    runner = coalesce(
        (SELECT CASE WHEN bool_or(has_v2) THEN 'v2' END FROM habit),
        (SELECT CASE WHEN count(phase) > 0 THEN 'v1' END FROM host_scope)
    );

-- Serving engines split their world into data-parallel engines and pipeline stages; the rest is
-- tensor parallel. File names tell the stages.
UPDATE run SET
    tensor_parallel = (
        SELECT world_size // count(DISTINCT dp) // (1 + max(coalesce(
            try_cast(regexp_extract(path, '(?:_pp|-PP-)(\d+)', 1) AS INTEGER), 0
        )))
        FROM file
        WHERE kind = 'trace'
    )
WHERE tensor_parallel IS NULL AND engine IN ('vllm', 'sglang');
