-- Tables of a tracekit database, schema version 2.
--
-- Every table carries `run`, so one file holds many runs and a run is removed by one DELETE per table.
-- Times are integer nanoseconds: `*_ns` columns named start are absolute (epoch where the trace has one),
-- all others are durations. Names take dictionary compression at once: to try every kind costs a fifth of
-- the time of an insert. Users read the views in queries/views; these tables are what the views stand on.

CREATE TYPE device_kind AS ENUM ('gpu', 'cpu');
CREATE TYPE activity_kind AS ENUM ('kernel', 'memcpy', 'memset', 'cpu_op');
CREATE TYPE phase AS ENUM ('prepare', 'forward', 'verify', 'sample', 'draft', 'other');
CREATE TYPE phase_source AS ENUM ('plugin', 'engine', 'span', 'kernels', 'graph', 'none');  -- best first
CREATE TYPE link AS ENUM ('launch', 'order', 'none', 'host');

CREATE TABLE meta (
    schema_version INTEGER NOT NULL,
    tracekit_version VARCHAR NOT NULL
);
COMMENT ON TABLE meta IS 'One row: which schema this database has and which tracekit made it.';
COMMENT ON COLUMN meta.schema_version IS 'Version of these tables; another version must be ingested again.';
COMMENT ON COLUMN meta.tracekit_version IS 'Version of tracekit that created the file.';

CREATE TABLE run (
    run VARCHAR NOT NULL,
    backend VARCHAR NOT NULL,
    engine VARCHAR,
    engine_version VARCHAR,
    runner VARCHAR,
    model VARCHAR,
    gpu VARCHAR,
    world_size INTEGER,
    tensor_parallel INTEGER,
    speculative_method VARCHAR,
    num_speculative_tokens INTEGER,
    is_synthetic BOOLEAN NOT NULL,
    status VARCHAR,
    error VARCHAR,
    context JSON,
    source VARCHAR
);
COMMENT ON TABLE run IS 'One row per run: one captured or ingested profile of one server or script.';
COMMENT ON COLUMN run.run IS 'Name, unique in the database.';
COMMENT ON COLUMN run.backend IS 'gpu, or cpu where no rank has device events and deviceProperties is empty; unknown without a trace.';
COMMENT ON COLUMN run.engine IS 'vllm, sglang or torch; NULL where nothing tells.';
COMMENT ON COLUMN run.engine_version IS 'From the trace (vllm_version), run.json or the server log; NULL where unknown.';
COMMENT ON COLUMN run.runner IS 'vLLM model runner, v1 or v2, told by kernel names or scopes; NULL elsewhere.';
COMMENT ON COLUMN run.model IS 'Model name or path as the server was given it; NULL where unknown.';
COMMENT ON COLUMN run.gpu IS 'Device name from deviceProperties of the lowest rank; NULL on CPU or where empty.';
COMMENT ON COLUMN run.world_size IS 'Ranks the engine ran with (distributedInfo.world_size, times data-parallel engines seen); NULL where unknown.';
COMMENT ON COLUMN run.tensor_parallel IS 'Tensor-parallel size from run.json, file names, else world size of vLLM/SGLang; NULL where unknown.';
COMMENT ON COLUMN run.speculative_method IS 'Drafting method as configured (run.json, server log); NULL where unknown or off.';
COMMENT ON COLUMN run.num_speculative_tokens IS 'Draft tokens per request and step as configured; NULL where unknown or off.';
COMMENT ON COLUMN run.is_synthetic IS 'True where run.json says the traces were generated.';
COMMENT ON COLUMN run.status IS 'complete or failed, as run.json says of its capture; NULL where it does not.';
COMMENT ON COLUMN run.error IS 'Why the capture failed, in one line; NULL where it did not.';
COMMENT ON COLUMN run.context IS 'run.json of the run folder as it was; NULL where there is none.';
COMMENT ON COLUMN run.source IS 'Folder or file that was ingested, as the user gave it.';

CREATE TABLE file (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    path VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    dp INTEGER NOT NULL,
    rank INTEGER,
    stage VARCHAR,
    host_name VARCHAR,
    base_ns BIGINT,
    grain_ns INTEGER,
    bytes BIGINT NOT NULL,
    events BIGINT,
    window_start_ns BIGINT,
    window_end_ns BIGINT,
    metadata JSON
);
COMMENT ON TABLE file IS 'One row per file looked at by an ingest, used or not.';
COMMENT ON COLUMN file.run IS 'Run the file belongs to.';
COMMENT ON COLUMN file.file_id IS 'Number of the file within the run, from 0.';
COMMENT ON COLUMN file.path IS 'Path relative to what was ingested.';
COMMENT ON COLUMN file.kind IS 'trace, frontend (no device work: vLLM async_llm), metrics, load, gpu_samples, run_json, server_log, nccl_log, config, context (facts for people, not read), other (not known, not read).';
COMMENT ON COLUMN file.dp IS 'Data-parallel engine, 0 where there is one.';
COMMENT ON COLUMN file.rank IS 'Rank within the engine''s world: --rank, distributedInfo.rank or the file name; NULL where none tells.';
COMMENT ON COLUMN file.stage IS 'SGLang stage of a file profiled by stage (EXTEND, DECODE); NULL elsewhere.';
COMMENT ON COLUMN file.host_name IS 'host_name of the trace; NULL where absent.';
COMMENT ON COLUMN file.base_ns IS 'baseTimeNanoseconds of the trace, already added to every start_ns; NULL where absent.';
COMMENT ON COLUMN file.grain_ns IS 'Resolution of ts and dur in the file: 1000 for integer microseconds, 1 for three decimals.';
COMMENT ON COLUMN file.bytes IS 'Size on disk, compressed where it is.';
COMMENT ON COLUMN file.events IS 'Elements of traceEvents; NULL for files that are no trace.';
COMMENT ON COLUMN file.window_start_ns IS 'Start of the profiling window (PyTorch Profiler span, else first event); NULL without events.';
COMMENT ON COLUMN file.window_end_ns IS 'End of the profiling window (PyTorch Profiler span, else last event end); NULL without events.';
COMMENT ON COLUMN file.metadata IS 'Everything of the trace object but traceEvents.';

CREATE TABLE ledger (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    reason VARCHAR,
    events BIGINT,
    kept BIGINT,
    skipped BIGINT NOT NULL,
    example VARCHAR,
    is_loss BOOLEAN NOT NULL
);
COMMENT ON TABLE ledger IS 'What became of every event: one total row per trace file (reason NULL) and one row per reason to skip.';
COMMENT ON COLUMN ledger.run IS 'Run.';
COMMENT ON COLUMN ledger.file_id IS 'File within the run.';
COMMENT ON COLUMN ledger.reason IS 'Why events were skipped, or what kept events are suspected of (skipped = 0); NULL in the total row.';
COMMENT ON COLUMN ledger.events IS 'Events the reader counted in the file; total row only.';
COMMENT ON COLUMN ledger.kept IS 'Rows of the file found in the tables afterwards; total row only.';
COMMENT ON COLUMN ledger.skipped IS 'Events skipped for the reason; in the total row the sum.';
COMMENT ON COLUMN ledger.example IS 'One such event or its place (byte of the file); NULL for kinds not needed.';
COMMENT ON COLUMN ledger.is_loss IS 'False for kinds that are not needed (flows, Python functions, metadata), true for anything else.';

CREATE TABLE activity (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    dp INTEGER NOT NULL,
    rank INTEGER,
    activity_id BIGINT NOT NULL,
    device_kind device_kind NOT NULL,
    activity_kind activity_kind NOT NULL,
    device INTEGER,
    stream BIGINT,
    start_ns BIGINT NOT NULL,
    dur_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL USING COMPRESSION dictionary,
    category VARCHAR NOT NULL USING COMPRESSION dictionary,
    impl VARCHAR USING COMPRESSION dictionary,
    step INTEGER,
    phase phase NOT NULL,
    phase_source phase_source NOT NULL,
    op VARCHAR USING COMPRESSION dictionary,
    scope VARCHAR USING COMPRESSION dictionary,
    launch_ns BIGINT,
    correlation BIGINT,
    graph_id BIGINT,
    graph_node_id BIGINT,
    grid VARCHAR USING COMPRESSION dictionary,
    block VARCHAR USING COMPRESSION dictionary,
    bytes BIGINT,
    link link NOT NULL
);
COMMENT ON TABLE activity IS 'One row per interval of device work: kernel, memcpy, memset, or in a CPU run the innermost op that does work.';
COMMENT ON COLUMN activity.run IS 'Run.';
COMMENT ON COLUMN activity.file_id IS 'File within the run that holds the event.';
COMMENT ON COLUMN activity.dp IS 'Data-parallel engine, 0 where there is one.';
COMMENT ON COLUMN activity.rank IS 'Rank within the engine''s world; NULL where unknown.';
COMMENT ON COLUMN activity.activity_id IS 'Number of the activity within the run, in no particular order.';
COMMENT ON COLUMN activity.device_kind IS 'gpu or cpu.';
COMMENT ON COLUMN activity.activity_kind IS 'kernel, memcpy, memset or cpu_op.';
COMMENT ON COLUMN activity.device IS 'Device index as the trace numbers it; not the rank. NULL on CPU.';
COMMENT ON COLUMN activity.stream IS 'Stream of the device; on CPU the thread.';
COMMENT ON COLUMN activity.start_ns IS 'Start, ns since the epoch where the file has a base, else on the file''s own axis.';
COMMENT ON COLUMN activity.dur_ns IS 'Duration, ns.';
COMMENT ON COLUMN activity.name IS 'Kernel or op name exactly as in the trace.';
COMMENT ON COLUMN activity.category IS 'What the work is for: all_reduce, gemm, ...; unknown where no rule knows the name.';
COMMENT ON COLUMN activity.impl IS 'Implementation within the category: nccl, marlin, custom_1stage, ...; NULL where the rule names none.';
COMMENT ON COLUMN activity.step IS 'Engine step, the same number on every rank; NULL where no step can be told.';
COMMENT ON COLUMN activity.phase IS 'prepare, forward, verify, sample, draft or other.';
COMMENT ON COLUMN activity.phase_source IS 'What decided the phase: plugin, engine, span, kernels, graph, or none.';
COMMENT ON COLUMN activity.op IS 'Name of the host op that launched it, by External id; NULL where the trace has none (graph replays).';
COMMENT ON COLUMN activity.scope IS 'Innermost host annotation open at its launch on the launching thread; NULL where none.';
COMMENT ON COLUMN activity.launch_ns IS 'Start of the launch call, same axis as start_ns; NULL where the call is not in the trace.';
COMMENT ON COLUMN activity.correlation IS 'CUPTI/roctracer correlation id of the launch; NULL where absent.';
COMMENT ON COLUMN activity.graph_id IS 'CUDA graph it was replayed from; NULL outside graphs or where the trace has no ids.';
COMMENT ON COLUMN activity.graph_node_id IS 'Node within the CUDA graph; NULL like graph_id.';
COMMENT ON COLUMN activity.grid IS 'Launch grid as the trace writes it, [x, y, z]; NULL for copies.';
COMMENT ON COLUMN activity.block IS 'Thread block as the trace writes it, [x, y, z]; NULL for copies.';
COMMENT ON COLUMN activity.bytes IS 'Bytes copied or set (memcpy, memset); NULL for kernels.';
COMMENT ON COLUMN activity.link IS 'How the step was found: launch, order (by its neighbours), none, or host (a CPU activity).';

CREATE TABLE host_call (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    thread BIGINT,
    start_ns BIGINT NOT NULL,
    dur_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL USING COMPRESSION dictionary,
    correlation BIGINT
);
COMMENT ON TABLE host_call IS 'One row per CUDA/HIP runtime or driver call; those that caused activities are their launches.';
COMMENT ON COLUMN host_call.run IS 'Run.';
COMMENT ON COLUMN host_call.file_id IS 'File within the run.';
COMMENT ON COLUMN host_call.thread IS 'Host thread id.';
COMMENT ON COLUMN host_call.start_ns IS 'Start, same axis as activity.start_ns.';
COMMENT ON COLUMN host_call.dur_ns IS 'Duration, ns.';
COMMENT ON COLUMN host_call.name IS 'cudaLaunchKernel, cudaGraphLaunch, hipMemcpyAsync, ...';
COMMENT ON COLUMN host_call.correlation IS 'Correlation id, equal on the call and on all it caused; NULL where absent.';

CREATE TABLE host_op (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    thread BIGINT,
    start_ns BIGINT NOT NULL,
    dur_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL USING COMPRESSION dictionary,
    external_id BIGINT
);
COMMENT ON TABLE host_op IS 'One row per cpu_op event: operators as PyTorch records them on the host, nested.';
COMMENT ON COLUMN host_op.run IS 'Run.';
COMMENT ON COLUMN host_op.file_id IS 'File within the run.';
COMMENT ON COLUMN host_op.thread IS 'Host thread id.';
COMMENT ON COLUMN host_op.start_ns IS 'Start, same axis as activity.start_ns.';
COMMENT ON COLUMN host_op.dur_ns IS 'Duration, ns, children included.';
COMMENT ON COLUMN host_op.name IS 'Operator name: aten::mm, _C::rms_norm, ...';
COMMENT ON COLUMN host_op.external_id IS 'External id that its kernels carry; NULL where absent.';

CREATE TABLE scope (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    is_device BOOLEAN NOT NULL,
    thread BIGINT,
    start_ns BIGINT NOT NULL,
    dur_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL USING COMPRESSION dictionary
);
COMMENT ON TABLE scope IS 'One row per annotation (record_function): the engine''s, the plugin''s or the user''s.';
COMMENT ON COLUMN scope.run IS 'Run.';
COMMENT ON COLUMN scope.file_id IS 'File within the run.';
COMMENT ON COLUMN scope.is_device IS 'True for gpu_user_annotation: a span drawn over the kernels of the innermost scope, no work of its own.';
COMMENT ON COLUMN scope.thread IS 'Host thread id, or stream where is_device.';
COMMENT ON COLUMN scope.start_ns IS 'Start, same axis as activity.start_ns.';
COMMENT ON COLUMN scope.dur_ns IS 'Duration, ns.';
COMMENT ON COLUMN scope.name IS 'Annotation text exactly as in the trace.';

CREATE TABLE kernel (
    run VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    impl VARCHAR,
    rule VARCHAR,
    weight_type VARCHAR,
    group_size INTEGER,
    tile VARCHAR
);
COMMENT ON TABLE kernel IS 'One row per (run, activity name): its class and the rule that won.';
COMMENT ON COLUMN kernel.run IS 'Run.';
COMMENT ON COLUMN kernel.name IS 'Name exactly as in the trace.';
COMMENT ON COLUMN kernel.category IS 'Category the rules give; unknown where none matches.';
COMMENT ON COLUMN kernel.impl IS 'Implementation the rule names; NULL where it names none.';
COMMENT ON COLUMN kernel.rule IS 'Rule that won: file and number, or the exact-name list; NULL where unknown.';
COMMENT ON COLUMN kernel.weight_type IS 'Marlin: weight type decoded from the template arguments (u4b8, fp8_e4m3fn, ...); NULL elsewhere.';
COMMENT ON COLUMN kernel.group_size IS 'Marlin: weights per scale, -1 = one scale per channel; NULL elsewhere.';
COMMENT ON COLUMN kernel.tile IS 'Marlin: thread-block tile MxNxK; NULL elsewhere.';

CREATE TABLE step (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    dp INTEGER NOT NULL,
    rank INTEGER,
    step INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    annotation VARCHAR,
    start_ns BIGINT,
    dur_ns BIGINT,
    busy_ns BIGINT,
    idle_ns BIGINT,
    wait_for_work_ns BIGINT,
    starved_ns BIGINT,
    launch_delay_ns BIGINT,
    host_start_ns BIGINT,
    host_dur_ns BIGINT,
    n_prefill_reqs INTEGER,
    n_prefill_tokens INTEGER,
    n_decode_reqs INTEGER,
    n_decode_tokens INTEGER,
    is_verify BOOLEAN NOT NULL,
    n_draft_tokens INTEGER,
    n_emitted_tokens INTEGER,
    is_complete BOOLEAN NOT NULL,
    main_stream BIGINT,
    longest_call VARCHAR,
    longest_call_ns BIGINT
);
COMMENT ON TABLE step IS 'One row per (run, dp, rank, step): one engine iteration as that rank saw it.';
COMMENT ON COLUMN step.run IS 'Run.';
COMMENT ON COLUMN step.file_id IS 'File within the run that holds the step.';
COMMENT ON COLUMN step.dp IS 'Data-parallel engine, 0 where there is one.';
COMMENT ON COLUMN step.rank IS 'Rank within the engine''s world; NULL where unknown.';
COMMENT ON COLUMN step.step IS 'Number of the step, from 0 = the earliest any rank has, equal on all ranks.';
COMMENT ON COLUMN step.kind IS 'prefill, decode, mixed, idle (no request), or unknown where nothing tells.';
COMMENT ON COLUMN step.annotation IS 'The step''s own annotation; NULL where it was cut without one.';
COMMENT ON COLUMN step.start_ns IS 'Anchor on the device: start of its first kernel on its main stream; NULL for a step without device work.';
COMMENT ON COLUMN step.dur_ns IS 'Window on the device, to the next step''s anchor; = busy + idle + wait_for_work exactly.';
COMMENT ON COLUMN step.busy_ns IS 'Union of all activities of the rank clipped to the window, ns.';
COMMENT ON COLUMN step.idle_ns IS 'Time in the window with no activity, less wait_for_work_ns.';
COMMENT ON COLUMN step.wait_for_work_ns IS 'Gap at the end of the step where the host ran empty steps; 0 without one; NULL where the engine writes no empty steps.';
COMMENT ON COLUMN step.starved_ns IS 'Part of idle_ns in which nothing was queued: the next activity was launched after the gap began. NULL without launches.';
COMMENT ON COLUMN step.launch_delay_ns IS 'Median time from launch call to start over the step''s activities; NULL without launches.';
COMMENT ON COLUMN step.host_start_ns IS 'Start of the step on the host; NULL where the trace has no host side.';
COMMENT ON COLUMN step.host_dur_ns IS 'Duration on the host, to the next step''s start or its last scope or launch, ns.';
COMMENT ON COLUMN step.n_prefill_reqs IS 'Requests in the context phase; NULL where the annotation does not say.';
COMMENT ON COLUMN step.n_prefill_tokens IS 'Tokens scheduled for them; NULL where unknown.';
COMMENT ON COLUMN step.n_decode_reqs IS 'Requests in the generation phase; NULL where unknown.';
COMMENT ON COLUMN step.n_decode_tokens IS 'Tokens scheduled for them, drafts included; NULL where unknown.';
COMMENT ON COLUMN step.is_verify IS 'True where the step checks draft tokens.';
COMMENT ON COLUMN step.n_draft_tokens IS 'Draft tokens it checks; NULL where only the fact is known.';
COMMENT ON COLUMN step.n_emitted_tokens IS 'Tokens it emitted, where the trace tells; else NULL.';
COMMENT ON COLUMN step.is_complete IS 'True where the step begins and its last phase ends inside the profiling window.';
COMMENT ON COLUMN step.main_stream IS 'Stream with most kernel time in the step; NULL without device work.';
COMMENT ON COLUMN step.longest_call IS 'Runtime call the host spent longest in during the step; NULL where none took 100 us.';
COMMENT ON COLUMN step.longest_call_ns IS 'Duration of that one call, ns.';

CREATE TABLE step_phase (
    run VARCHAR NOT NULL,
    dp INTEGER NOT NULL,
    rank INTEGER,
    step INTEGER NOT NULL,
    phase phase NOT NULL,
    start_ns BIGINT,
    n BIGINT NOT NULL,
    sum_ns BIGINT NOT NULL,
    busy_ns BIGINT NOT NULL,
    host_start_ns BIGINT,
    host_dur_ns BIGINT,
    phase_source phase_source NOT NULL
);
COMMENT ON TABLE step_phase IS 'One row per (run, dp, rank, step, phase) that has activities or host time.';
COMMENT ON COLUMN step_phase.run IS 'Run.';
COMMENT ON COLUMN step_phase.dp IS 'Data-parallel engine.';
COMMENT ON COLUMN step_phase.rank IS 'Rank; NULL where unknown.';
COMMENT ON COLUMN step_phase.step IS 'Step.';
COMMENT ON COLUMN step_phase.phase IS 'prepare, forward, verify, sample, draft or other.';
COMMENT ON COLUMN step_phase.start_ns IS 'Start of its first activity; NULL where it has host time only.';
COMMENT ON COLUMN step_phase.n IS 'Activities attributed to it.';
COMMENT ON COLUMN step_phase.sum_ns IS 'Sum of their durations (work), ns.';
COMMENT ON COLUMN step_phase.busy_ns IS 'Union of their intervals over all streams (wall), ns.';
COMMENT ON COLUMN step_phase.host_start_ns IS 'Start of its first host scope, else of its first launch; NULL without.';
COMMENT ON COLUMN step_phase.host_dur_ns IS 'Host time of its scopes less inner scopes of other phases; NULL where no scope names the phase.';
COMMENT ON COLUMN step_phase.phase_source IS 'What decided: plugin, engine, span, kernels, graph or none; the best source where activities differ.';

CREATE TABLE step_category (
    run VARCHAR NOT NULL,
    dp INTEGER NOT NULL,
    rank INTEGER,
    step INTEGER NOT NULL,
    phase phase NOT NULL,
    category VARCHAR NOT NULL,
    n BIGINT NOT NULL,
    sum_ns BIGINT NOT NULL,
    busy_ns BIGINT NOT NULL,
    exposed_ns BIGINT NOT NULL,
    overhang_ns BIGINT NOT NULL
);
COMMENT ON TABLE step_category IS 'One row per (run, dp, rank, step, phase, category): time of the activities attributed to the step, unclipped.';
COMMENT ON COLUMN step_category.run IS 'Run.';
COMMENT ON COLUMN step_category.dp IS 'Data-parallel engine.';
COMMENT ON COLUMN step_category.rank IS 'Rank; NULL where unknown.';
COMMENT ON COLUMN step_category.step IS 'Step.';
COMMENT ON COLUMN step_category.phase IS 'Phase.';
COMMENT ON COLUMN step_category.category IS 'Category.';
COMMENT ON COLUMN step_category.n IS 'Activities.';
COMMENT ON COLUMN step_category.sum_ns IS 'Sum of durations (work), ns.';
COMMENT ON COLUMN step_category.busy_ns IS 'Union of intervals over all streams (wall), ns.';
COMMENT ON COLUMN step_category.exposed_ns IS 'Part of the union in which no activity of another category of the rank runs, ns.';
COMMENT ON COLUMN step_category.overhang_ns IS 'Part of the union outside the step''s window, ns.';

CREATE TABLE capture_window (
    run VARCHAR NOT NULL,
    window_name VARCHAR NOT NULL,
    is_profiled BOOLEAN NOT NULL,
    concurrency INTEGER,
    start_ns BIGINT,
    dur_ns BIGINT,
    stop_profile_ns BIGINT
);
COMMENT ON TABLE capture_window IS 'One row per window of a capture: a stretch in which a load ran, with or without the profiler.';
COMMENT ON COLUMN capture_window.run IS 'Run.';
COMMENT ON COLUMN capture_window.window_name IS 'Name, unique in the run: unprofiled, profiled, ...';
COMMENT ON COLUMN capture_window.is_profiled IS 'True where the profiler ran; the traces are of these windows.';
COMMENT ON COLUMN capture_window.concurrency IS 'Requests in flight at a time; NULL where unknown.';
COMMENT ON COLUMN capture_window.start_ns IS 'Just before the first request, ns since the epoch; NULL where unknown.';
COMMENT ON COLUMN capture_window.dur_ns IS 'From there to the end of the last response; NULL where unknown.';
COMMENT ON COLUMN capture_window.stop_profile_ns IS 'How long the server took to stop the profiler and write the traces; NULL where unknown.';

CREATE TABLE counter (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    window_name VARCHAR NOT NULL,
    moment VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    labels JSON NOT NULL,
    value DOUBLE NOT NULL
);
COMMENT ON TABLE counter IS 'One row per sample of a server''s /metrics text, before and after each window.';
COMMENT ON COLUMN counter.run IS 'Run.';
COMMENT ON COLUMN counter.file_id IS 'File within the run.';
COMMENT ON COLUMN counter.window_name IS 'Window that run.json names the file for; else unprofiled where the file''s name says so, else profiled.';
COMMENT ON COLUMN counter.moment IS 'before or after the window: from run.json, else from the file''s name.';
COMMENT ON COLUMN counter.name IS 'Sample name, vllm:spec_decode_num_drafts_total, ...';
COMMENT ON COLUMN counter.labels IS 'Labels as an object.';
COMMENT ON COLUMN counter.value IS 'Value as exposed.';

CREATE TABLE iteration (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    window_name VARCHAR,
    dp INTEGER NOT NULL,
    iteration BIGINT NOT NULL,
    n_prefill_reqs INTEGER NOT NULL,
    n_prefill_tokens INTEGER NOT NULL,
    n_decode_reqs INTEGER NOT NULL,
    n_decode_tokens INTEGER NOT NULL,
    dur_ns BIGINT NOT NULL,
    is_dummy BOOLEAN NOT NULL,
    at_byte BIGINT NOT NULL
);
COMMENT ON TABLE iteration IS 'One row per line of vLLM''s iteration log (--enable-logging-iteration-details): a step as the engine timed it.';
COMMENT ON COLUMN iteration.run IS 'Run.';
COMMENT ON COLUMN iteration.file_id IS 'Log within the run.';
COMMENT ON COLUMN iteration.window_name IS 'Window whose part of the log the line begins in; NULL outside all windows, such as warm-up.';
COMMENT ON COLUMN iteration.dp IS 'Data-parallel engine that ran it, from the line''s prefix; 0 where it names none.';
COMMENT ON COLUMN iteration.iteration IS 'Number the engine gives it; each engine counts its own.';
COMMENT ON COLUMN iteration.n_prefill_reqs IS 'Requests in the context phase.';
COMMENT ON COLUMN iteration.n_prefill_tokens IS 'Tokens scheduled for them.';
COMMENT ON COLUMN iteration.n_decode_reqs IS 'Requests in the generation phase.';
COMMENT ON COLUMN iteration.n_decode_tokens IS 'Tokens scheduled for them, drafts included.';
COMMENT ON COLUMN iteration.dur_ns IS 'Elapsed time as the engine measured it, to 10 us (two decimals of a millisecond).';
COMMENT ON COLUMN iteration.is_dummy IS 'True for a data-parallel engine that ran along without requests.';
COMMENT ON COLUMN iteration.at_byte IS 'Byte of the log at which the line begins.';

CREATE TABLE gpu_sample (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    window_name VARCHAR,
    gpu INTEGER NOT NULL,
    start_ns BIGINT,
    name VARCHAR,
    sm_clock_mhz DOUBLE,
    memory_clock_mhz DOUBLE,
    power_w DOUBLE,
    power_limit_w DOUBLE,
    temperature_c DOUBLE,
    memory_temperature_c DOUBLE,
    utilization_ratio DOUBLE,
    memory_used_bytes BIGINT,
    pcie_generation INTEGER,
    pcie_width INTEGER,
    throttle_mask BIGINT
);
COMMENT ON TABLE gpu_sample IS 'One row per (window, GPU, second): what nvidia-smi said while the load ran.';
COMMENT ON COLUMN gpu_sample.run IS 'Run.';
COMMENT ON COLUMN gpu_sample.file_id IS 'File within the run.';
COMMENT ON COLUMN gpu_sample.window_name IS 'Window that run.json names the file for; NULL without.';
COMMENT ON COLUMN gpu_sample.gpu IS 'Index as nvidia-smi counts; not the rank.';
COMMENT ON COLUMN gpu_sample.start_ns IS 'Moment of the sample, ns since the epoch; nvidia-smi writes local time, set right by the window''s start. NULL where unknown.';
COMMENT ON COLUMN gpu_sample.name IS 'Name of the GPU; NULL where it was not asked for.';
COMMENT ON COLUMN gpu_sample.sm_clock_mhz IS 'Clock of the multiprocessors, MHz; NULL where not supported, as in all columns that follow.';
COMMENT ON COLUMN gpu_sample.memory_clock_mhz IS 'Clock of the memory, MHz.';
COMMENT ON COLUMN gpu_sample.power_w IS 'Power draw, W.';
COMMENT ON COLUMN gpu_sample.power_limit_w IS 'Power limit, W.';
COMMENT ON COLUMN gpu_sample.temperature_c IS 'Temperature of the GPU, degrees Celsius.';
COMMENT ON COLUMN gpu_sample.memory_temperature_c IS 'Temperature of the memory, degrees Celsius.';
COMMENT ON COLUMN gpu_sample.utilization_ratio IS 'Share of the last second in which some kernel ran, 0 to 1.';
COMMENT ON COLUMN gpu_sample.memory_used_bytes IS 'Memory in use, bytes.';
COMMENT ON COLUMN gpu_sample.pcie_generation IS 'Generation at which the PCIe link runs; it slows down while its GPU idles.';
COMMENT ON COLUMN gpu_sample.pcie_width IS 'Lanes of the PCIe link in use.';
COMMENT ON COLUMN gpu_sample.throttle_mask IS 'Reasons that held the clocks down, as NVML''s bits (clocks_event_reasons.active).';

CREATE TABLE request (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    window_name VARCHAR,
    request INTEGER NOT NULL,
    prompt VARCHAR,
    start_ns BIGINT NOT NULL,
    dur_ns BIGINT,
    first_chunk_ns BIGINT,
    n_prompt_tokens BIGINT,
    n_tokens BIGINT,
    n_chunks INTEGER,
    status VARCHAR
);
COMMENT ON TABLE request IS 'One row per request of a capture''s load, as the client saw it.';
COMMENT ON COLUMN request.run IS 'Run.';
COMMENT ON COLUMN request.file_id IS 'File within the run.';
COMMENT ON COLUMN request.window_name IS 'Window that run.json names the file for; NULL without.';
COMMENT ON COLUMN request.request IS 'Number of the row in its file, from 0.';
COMMENT ON COLUMN request.prompt IS 'Which prompt it was, as the load names it; NULL where it does not.';
COMMENT ON COLUMN request.start_ns IS 'When it was sent, ns since the epoch.';
COMMENT ON COLUMN request.dur_ns IS 'From there to the end of the response; NULL where it had none.';
COMMENT ON COLUMN request.first_chunk_ns IS 'From there to the first chunk of the response; NULL where none came.';
COMMENT ON COLUMN request.n_prompt_tokens IS 'Prompt tokens as the server counted them (usage); NULL where it did not say.';
COMMENT ON COLUMN request.n_tokens IS 'Tokens it generated as the server counted them (usage); NULL where it did not say.';
COMMENT ON COLUMN request.n_chunks IS 'Chunks that arrived; streams come in bursts, so their times are no token times. NULL where unknown.';
COMMENT ON COLUMN request.status IS 'HTTP status, or what went wrong; NULL where unknown.';
