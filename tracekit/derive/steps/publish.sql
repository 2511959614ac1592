-- Derived rows into the tables: activities, steps.
--
-- Makes: activity, step.

INSERT INTO activity
WITH external AS (
    SELECT DISTINCT external_id
    FROM device_event
    WHERE external_id IS NOT NULL
),
ops AS (
    SELECT file_id, external_id, any_value(name) AS op
    FROM host_op
    WHERE external_id IN (FROM external)
    GROUP BY ALL
)
SELECT
    $run, attributed.file_id, dp, rank, attributed.id,
    backend, coalesce(device_event.kind, 'cpu_op'),
    attributed.device, attributed.stream, attributed.start_ns, end_ns - attributed.start_ns,
    signature.name, category_code.category, impl,
    step, phase, phase_source, op, scope,
    launch_ns, correlation, device_event.graph_id, graph_node_id, grid, block, device_event.bytes, link
FROM attributed
JOIN file ON file.file_id = attributed.file_id
JOIN signature ON signature.name_id = attributed.name_id
JOIN category_code ON category_code.category_id = attributed.category_id
CROSS JOIN backend
LEFT JOIN device_event ON device_event.id = attributed.id
LEFT JOIN step_number ON (step_number.file_id, step_number.k) = (attributed.file_id, attributed.k)
LEFT JOIN launch ON (launch.file_id, launch.launch_id) = (attributed.file_id, attributed.launch_id)
LEFT JOIN ops ON (ops.file_id, ops.external_id) = (device_event.file_id, device_event.external_id);

INSERT INTO step
WITH longest AS (
    SELECT host_step.file_id, k, arg_max(name, dur_ns) AS call, max(dur_ns) AS call_ns
    FROM host_call
    ASOF JOIN host_step ON host_call.file_id = host_step.file_id AND start_ns >= begin_ns
    -- Shorter calls stall nobody, and there are hundreds of thousands.
    WHERE dur_ns >= 100_000
    GROUP BY ALL
)
SELECT
    $run, file_id, dp, rank, step,
    CASE
        WHEN n_prefill_reqs > 0 AND n_decode_reqs > 0 OR contains(pass_name, 'MIXED') THEN 'mixed'
        WHEN n_prefill_reqs > 0 OR contains(pass_name, 'EXTEND') THEN 'prefill'
        WHEN n_decode_reqs > 0 OR regexp_matches(pass_name, 'DECODE|VERIFY') THEN 'decode'
        WHEN n_decode_reqs = 0 OR step_fact.is_dummy OR contains(pass_name, 'IDLE') THEN 'idle'
        ELSE 'unknown'
    END,
    annotation, step_time.start_ns, stop_ns - step_time.start_ns, busy_ns,
    stop_ns - step_time.start_ns - busy_ns - wait_ns,
    CASE WHEN writes_empty_steps THEN wait_ns END,
    starved_ns, launch_delay_ns,
    begin_ns, step_fact.end_ns - begin_ns,
    n_prefill_reqs, n_prefill_tokens, n_decode_reqs, n_decode_tokens,
    is_verify,
    CASE
        WHEN n_decode_tokens >= n_decode_reqs THEN n_decode_tokens - n_decode_reqs
        WHEN NOT is_verify THEN 0
    END,
    CASE
        WHEN n_prefill_reqs = 0 AND n_decode_tokens = n_decode_reqs THEN n_decode_reqs
        ELSE emitted.n
    END,
    cut_step.k IS NULL AND coalesce(begin_ns >= window_start_ns, true),
    main_stream, call, call_ns
FROM step_fact
JOIN step_number USING (file_id, k)
JOIN file USING (file_id)
LEFT JOIN step_time USING (file_id, k)
LEFT JOIN longest USING (file_id, k)
LEFT JOIN cut_step USING (file_id, k)
LEFT JOIN emitted USING (file_id, k)
CROSS JOIN (
    -- vLLM annotates its empty steps; SGLang skips them.
    SELECT bool_or(execute_name IS NOT NULL) AND bool_and(pass_name IS NULL) AS writes_empty_steps
    FROM host_step
);
