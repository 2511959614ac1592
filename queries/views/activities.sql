-- Every interval of device work, with its class, step and phase.
--
-- Answers: what ran, when, why, and in which step?
-- Grain: one row per activity: GPU kernel, memcpy, memset, or in a CPU run the innermost op that does work.
-- Columns:
--   run VARCHAR: run.
--   dp INTEGER: data-parallel engine, 0 where there is one.
--   rank INTEGER: rank within the engine's world; NULL where unknown.
--   device_kind VARCHAR: gpu or cpu.
--   activity_kind VARCHAR: kernel, memcpy, memset or cpu_op.
--   device INTEGER: device as the trace numbers it, not the rank; NULL on CPU.
--   stream BIGINT: stream of the device; on CPU the thread.
--   start_ns BIGINT: start, ns since the epoch where the file has a base, else on the file's own axis.
--   dur_ns BIGINT: duration, ns.
--   name VARCHAR: kernel or op name exactly as in the trace.
--   category VARCHAR: what the work is for; unknown where no rule knows the name.
--   impl VARCHAR: implementation within the category; NULL where the rule names none.
--   step INTEGER: engine step, the same number on every rank; NULL where none can be told.
--   phase VARCHAR: prepare, forward, verify, sample, draft or other.
--   phase_source VARCHAR: what decided the phase: plugin, engine, span, kernels, graph or none.
--   op VARCHAR: host op that launched it; NULL where the trace has none (graph replays).
--   scope VARCHAR: innermost host annotation open at its launch; NULL where none.
--   launch_ns BIGINT: start of the launch call; NULL where the call is not in the trace.
--   correlation BIGINT: correlation id of the launch; NULL where absent.
--   graph_id BIGINT: CUDA graph it was replayed from; NULL outside graphs or without ids.
--   graph_node_id BIGINT: node within the graph; NULL like graph_id.
--   grid VARCHAR: launch grid, [x, y, z]; NULL for copies.
--   block VARCHAR: thread block, [x, y, z]; NULL for copies.
--   bytes BIGINT: bytes copied or set; NULL for kernels.
--   link VARCHAR: launch (by its launch call), order (by its neighbours), none (not placed) or host (CPU).
--   activity_id BIGINT: number of the activity within the run, in no particular order.
--   file_id BIGINT: file within the run.
-- Limits: a step holds what it launched, wherever that ran on the device: see `overhang_ns` of step_breakdown.

SELECT
    run,
    dp,
    rank,
    device_kind::VARCHAR AS device_kind,
    activity_kind::VARCHAR AS activity_kind,
    device,
    stream,
    start_ns,
    dur_ns,
    name,
    category,
    impl,
    step,
    phase::VARCHAR AS phase,
    phase_source::VARCHAR AS phase_source,
    op,
    scope,
    launch_ns,
    correlation,
    graph_id,
    graph_node_id,
    grid,
    block,
    bytes,
    link::VARCHAR AS link,
    activity_id,
    file_id::BIGINT AS file_id
FROM activity
