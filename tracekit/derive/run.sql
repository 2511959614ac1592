-- What the traces tell of the run, where its context does not.

UPDATE run SET
    backend = (SELECT backend FROM backend),
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
    ),
    gpu = (
        SELECT arg_min(nullif(json_extract_string(metadata, '$.deviceProperties[0].name'), ''), rank)
        FROM file
        WHERE kind = 'trace'
    );

-- Serving engines run each engine's world as one tensor-parallel group unless they were told otherwise.
UPDATE run SET
    tensor_parallel = world_size // (SELECT count(DISTINCT dp) FROM file WHERE kind = 'trace')
WHERE tensor_parallel IS NULL AND engine IN ('vllm', 'sglang');
