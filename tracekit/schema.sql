-- Tables of a tracekit database, schema version 3.
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
CREATE TYPE collective_match AS ENUM ('exact', 'template', 'order', 'none');
CREATE TYPE bytes_source AS ENUM ('args', 'nccl_log', 'shapes', 'model');

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
COMMENT ON COLUMN file.kind IS 'trace, frontend (no device work: vLLM async_llm), metrics, load, gpu_samples, run_json, server_log, nccl_log, calibration, config, context (facts for people, not read), other (not known, not read).';
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
COMMENT ON COLUMN file.metadata IS 'Everything of the trace object but traceEvents; of a model''s config.json the whole; else NULL.';

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
    tile VARCHAR,
    is_fused BOOLEAN NOT NULL DEFAULT false,
    is_tail BOOLEAN NOT NULL DEFAULT false
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
COMMENT ON COLUMN kernel.is_fused IS 'True where its rule says that a collective does other work too.';
COMMENT ON COLUMN kernel.is_tail IS 'True where its rule says that it ends the collective of the kernel before it.';

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

CREATE TABLE spec_sample (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    window_name VARCHAR,
    dp INTEGER NOT NULL,
    engine VARCHAR NOT NULL,
    drafts BIGINT,
    n_drafted BIGINT,
    n_accepted BIGINT,
    acceptance_rate DOUBLE,
    mean_acceptance_length DOUBLE,
    position_rates DOUBLE[],
    n_running INTEGER,
    at_byte BIGINT NOT NULL
);
COMMENT ON TABLE spec_sample IS 'One row per line in which the engine''s log tells what became of drafts since the line before.';
COMMENT ON COLUMN spec_sample.run IS 'Run.';
COMMENT ON COLUMN spec_sample.file_id IS 'Log within the run.';
COMMENT ON COLUMN spec_sample.window_name IS 'Window whose part of the log the line begins in; NULL outside all windows.';
COMMENT ON COLUMN spec_sample.dp IS 'Data-parallel engine, from the line''s prefix; 0 where it names none (vLLM''s API server adds engines up).';
COMMENT ON COLUMN spec_sample.engine IS 'vllm (SpecDecoding metrics) or sglang (Decode batch).';
COMMENT ON COLUMN spec_sample.drafts IS 'Drafts checked, from accepted tokens, mean and rates; NULL where their digits leave it open by more than 1 %, and on SGLang.';
COMMENT ON COLUMN spec_sample.n_drafted IS 'Draft tokens checked; NULL on SGLang.';
COMMENT ON COLUMN spec_sample.n_accepted IS 'Draft tokens accepted; NULL on SGLang.';
COMMENT ON COLUMN spec_sample.acceptance_rate IS 'Accepted / drafted tokens; on SGLang as printed (0.5.5 on, two decimals). NULL where unknown.';
COMMENT ON COLUMN spec_sample.mean_acceptance_length IS 'Tokens per draft, always with the bonus token, two decimals; NULL where the line has none.';
COMMENT ON COLUMN spec_sample.position_rates IS 'Accepted / drafts at each position, three decimals; NULL where the line has none.';
COMMENT ON COLUMN spec_sample.n_running IS 'Requests in the batch when SGLang wrote the line; NULL on vLLM.';
COMMENT ON COLUMN spec_sample.at_byte IS 'Byte of the log at which the line begins.';

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

CREATE TABLE collective (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    dp INTEGER NOT NULL,
    rank INTEGER,
    collective INTEGER NOT NULL,
    comm VARCHAR NOT NULL,
    seq BIGINT NOT NULL,
    activity_id BIGINT NOT NULL,
    n_activities INTEGER NOT NULL,
    step INTEGER,
    phase phase NOT NULL,
    name VARCHAR NOT NULL USING COMPRESSION dictionary,
    category VARCHAR NOT NULL USING COMPRESSION dictionary,
    impl VARCHAR USING COMPRESSION dictionary,
    is_fused BOOLEAN NOT NULL,
    group_size INTEGER,
    dtype VARCHAR,
    bytes BIGINT,
    bytes_source bytes_source,
    start_ns BIGINT NOT NULL,
    dur_ns BIGINT NOT NULL,
    launch_ns BIGINT,
    starved_ns BIGINT,
    wait_ns BIGINT,
    transfer_ns BIGINT,
    algorithm VARCHAR,
    protocol VARCHAR,
    channels INTEGER,
    model_ns BIGINT,
    match collective_match NOT NULL
);
COMMENT ON TABLE collective IS 'One row per (collective, rank): one call of one communicator as that rank ran it.';
COMMENT ON COLUMN collective.run IS 'Run.';
COMMENT ON COLUMN collective.file_id IS 'File within the run that holds the activity.';
COMMENT ON COLUMN collective.dp IS 'Data-parallel engine, 0 where there is one.';
COMMENT ON COLUMN collective.rank IS 'Rank within the engine''s world; NULL where unknown.';
COMMENT ON COLUMN collective.collective IS 'Number of the call within the run, equal on all ranks it was matched over.';
COMMENT ON COLUMN collective.comm IS 'Communicator: description or name of the process group (with its ranks where several share it), else the category after `unnamed `.';
COMMENT ON COLUMN collective.seq IS 'Place in the order of its communicator: Seq of the trace, else counted from 0.';
COMMENT ON COLUMN collective.activity_id IS 'Activity that carries it; the first, where a tail follows.';
COMMENT ON COLUMN collective.n_activities IS 'Activities that make it up: 2 where an implementation has a tail of its own, else 1.';
COMMENT ON COLUMN collective.step IS 'Engine step; NULL where none can be told.';
COMMENT ON COLUMN collective.phase IS 'Phase: tells collectives of draft and verify apart.';
COMMENT ON COLUMN collective.name IS 'Name of the activity.';
COMMENT ON COLUMN collective.category IS 'all_reduce, all_gather, ...';
COMMENT ON COLUMN collective.impl IS 'Implementation; NULL where the rule names none.';
COMMENT ON COLUMN collective.is_fused IS 'True where the kernel does other work too (norm, residual, quantisation): bandwidth is a lower bound.';
COMMENT ON COLUMN collective.group_size IS 'Ranks of the communicator: from the trace or NCCL''s log, else those matched; NULL where unknown.';
COMMENT ON COLUMN collective.dtype IS 'Element type as torch names it (BFloat16, Float, ...); NULL where unknown.';
COMMENT ON COLUMN collective.bytes IS 'Size of the message: the reduced tensor; of gathering and scattering collectives the whole over all ranks. NULL where unknown.';
COMMENT ON COLUMN collective.bytes_source IS 'Where bytes come from: args, nccl_log, shapes or model; NULL without bytes.';
COMMENT ON COLUMN collective.start_ns IS 'Start on the device, as in the trace.';
COMMENT ON COLUMN collective.dur_ns IS 'Duration on this rank, its tail included.';
COMMENT ON COLUMN collective.launch_ns IS 'Start of the launch call; NULL where it is not in the trace.';
COMMENT ON COLUMN collective.starved_ns IS 'Part of the gap right before it in which its device had nothing queued; NULL without launches.';
COMMENT ON COLUMN collective.wait_ns IS 'Latest start over ranks less its own, on corrected clocks; 0 on the rank that came last. NULL unless matched.';
COMMENT ON COLUMN collective.transfer_ns IS 'Shortest duration over ranks, which needs no clocks; NULL unless matched.';
COMMENT ON COLUMN collective.algorithm IS 'RING, TREE, NVLS, ... as NCCL''s log has it; NULL where no log tells.';
COMMENT ON COLUMN collective.protocol IS 'LL, LL128 or SIMPLE, likewise.';
COMMENT ON COLUMN collective.channels IS 'Channels in use: blocks of a kernel of NCCL''s own (ncclDevKernel_..., one per channel), else its log; NULL elsewhere.';
COMMENT ON COLUMN collective.model_ns IS 'Time NCCL''s own model gives for it, a lower bound; NULL where it does not apply.';
COMMENT ON COLUMN collective.match IS 'How its ranks were found: exact (metadata), template (replays of CUDA graphs), order (k-th to k-th), none.';

CREATE TABLE clock_offset (
    run VARCHAR NOT NULL,
    dp INTEGER NOT NULL,
    rank INTEGER,
    host_name VARCHAR,
    offset_ns BIGINT NOT NULL,
    drift_ppm DOUBLE NOT NULL,
    origin_ns BIGINT NOT NULL,
    is_applied BOOLEAN NOT NULL,
    n INTEGER NOT NULL,
    spread_ns BIGINT NOT NULL,
    n_early_before INTEGER NOT NULL,
    n_early_after INTEGER NOT NULL
);
COMMENT ON TABLE clock_offset IS 'One row per (dp, rank) with matched collectives: how far its GPU clock stands from the clocks of the others.';
COMMENT ON COLUMN clock_offset.run IS 'Run.';
COMMENT ON COLUMN clock_offset.dp IS 'Data-parallel engine.';
COMMENT ON COLUMN clock_offset.rank IS 'Rank; NULL where unknown.';
COMMENT ON COLUMN clock_offset.host_name IS 'Host of its trace; NULL where unknown.';
COMMENT ON COLUMN clock_offset.offset_ns IS 'To be added to its times: median over collectives of another rank''s end less its own, 0 for the middle one.';
COMMENT ON COLUMN clock_offset.drift_ppm IS 'By how much that changes: millionths of the time since origin_ns; 0 where no drift stands out.';
COMMENT ON COLUMN clock_offset.origin_ns IS 'When offset_ns holds: start of the first collective compared on its host.';
COMMENT ON COLUMN clock_offset.is_applied IS 'True where wait_ns is corrected by it; an offset within its noise is not.';
COMMENT ON COLUMN clock_offset.n IS 'Collectives it was found from.';
COMMENT ON COLUMN clock_offset.spread_ns IS 'Median distance of their ends from it.';
COMMENT ON COLUMN clock_offset.n_early_before IS 'Matched calls this rank ended before another began, with times as in the trace: impossible on one clock.';
COMMENT ON COLUMN clock_offset.n_early_after IS 'The same with corrected times.';

CREATE TABLE calibration (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    tool VARCHAR NOT NULL,
    mode VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    backend VARCHAR,
    n_ranks INTEGER,
    gpu VARCHAR,
    dtype VARCHAR,
    bytes BIGINT NOT NULL,
    is_in_place BOOLEAN NOT NULL,
    n INTEGER,
    time_ns BIGINT NOT NULL,
    p95_ns BIGINT,
    delayed_rank INTEGER,
    delay_ns BIGINT
);
COMMENT ON TABLE calibration IS 'One row per measured size of a collective: how fast this machine can be.';
COMMENT ON COLUMN calibration.run IS 'Run.';
COMMENT ON COLUMN calibration.file_id IS 'File within the run.';
COMMENT ON COLUMN calibration.tool IS 'nccl-tests or tracekit.';
COMMENT ON COLUMN calibration.mode IS 'eager, graph (CUDA graph), or burst (a recorded step''s sequence).';
COMMENT ON COLUMN calibration.category IS 'all_reduce, ...; and reduce, gather, scatter, which kernels do not tell apart.';
COMMENT ON COLUMN calibration.backend IS 'nccl, gloo, ...; NULL where unknown.';
COMMENT ON COLUMN calibration.n_ranks IS 'Ranks that took part; NULL where unknown.';
COMMENT ON COLUMN calibration.gpu IS 'Device of the lowest rank; NULL on CPU or where unknown.';
COMMENT ON COLUMN calibration.dtype IS 'Element type as the tool names it.';
COMMENT ON COLUMN calibration.bytes IS 'Size of the message, as in table collective.';
COMMENT ON COLUMN calibration.is_in_place IS 'True where the result overwrites the input.';
COMMENT ON COLUMN calibration.n IS 'Calls measured; NULL where unknown.';
COMMENT ON COLUMN calibration.time_ns IS 'Time of a call: median, or the mean where the tool gives no more.';
COMMENT ON COLUMN calibration.p95_ns IS '95th percentile; NULL where unknown.';
COMMENT ON COLUMN calibration.delayed_rank IS 'Rank that was delayed on purpose; NULL without.';
COMMENT ON COLUMN calibration.delay_ns IS 'By how much, before each call; NULL without.';

CREATE TABLE nccl_comm (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    at_byte BIGINT NOT NULL,
    host VARCHAR NOT NULL,
    pid BIGINT NOT NULL,
    comm VARCHAR NOT NULL,
    comm_id VARCHAR,
    rank INTEGER NOT NULL,
    n_ranks INTEGER NOT NULL,
    n_nodes INTEGER,
    cuda_device INTEGER,
    nvml_device INTEGER,
    bus_id VARCHAR,
    nccl_version VARCHAR,
    n_channels INTEGER,
    n_nvls_channels INTEGER,
    n_p2p_channels INTEGER,
    parent VARCHAR,
    init_ns BIGINT,
    destroyed_at_byte BIGINT
);
COMMENT ON TABLE nccl_comm IS 'One row per communicator and rank of NCCL''s logs.';
COMMENT ON COLUMN nccl_comm.run IS 'Run.';
COMMENT ON COLUMN nccl_comm.file_id IS 'Log within the run.';
COMMENT ON COLUMN nccl_comm.at_byte IS 'Byte of the log at which its Init line begins.';
COMMENT ON COLUMN nccl_comm.host IS 'Host as the line''s prefix has it.';
COMMENT ON COLUMN nccl_comm.pid IS 'Process.';
COMMENT ON COLUMN nccl_comm.comm IS 'Pointer: unique within the process until it is destroyed.';
COMMENT ON COLUMN nccl_comm.comm_id IS 'Hash that all ranks of a communicator share (commId); NULL before it was logged.';
COMMENT ON COLUMN nccl_comm.rank IS 'Rank within the communicator.';
COMMENT ON COLUMN nccl_comm.n_ranks IS 'Its ranks.';
COMMENT ON COLUMN nccl_comm.n_nodes IS 'Hosts it spans; NULL where not logged, as in the columns that follow.';
COMMENT ON COLUMN nccl_comm.cuda_device IS 'CUDA device.';
COMMENT ON COLUMN nccl_comm.nvml_device IS 'Device as NVML counts.';
COMMENT ON COLUMN nccl_comm.bus_id IS 'PCI bus id in hexadecimal, as logged.';
COMMENT ON COLUMN nccl_comm.nccl_version IS '2.27.5, ...; of its process.';
COMMENT ON COLUMN nccl_comm.n_channels IS 'Channels for collectives.';
COMMENT ON COLUMN nccl_comm.n_nvls_channels IS 'Channels for NVLS.';
COMMENT ON COLUMN nccl_comm.n_p2p_channels IS 'Channels for point-to-point.';
COMMENT ON COLUMN nccl_comm.parent IS 'Communicator it was split from.';
COMMENT ON COLUMN nccl_comm.init_ns IS 'Time its initialisation took.';
COMMENT ON COLUMN nccl_comm.destroyed_at_byte IS 'Byte of the line that says it is gone; NULL while it lives.';

CREATE TABLE nccl_call (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    at_byte BIGINT NOT NULL,
    source VARCHAR NOT NULL,
    logged_ns BIGINT,
    host VARCHAR NOT NULL,
    pid BIGINT NOT NULL,
    tid BIGINT NOT NULL,
    comm VARCHAR NOT NULL,
    rank INTEGER,
    n_ranks INTEGER,
    collective VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    op_count BIGINT,
    n_elements BIGINT NOT NULL,
    dtype VARCHAR,
    reduction VARCHAR,
    root INTEGER NOT NULL,
    bytes BIGINT,
    is_in_place BOOLEAN NOT NULL,
    stream VARCHAR NOT NULL
);
COMMENT ON TABLE nccl_call IS 'One row per collective call that NCCL logged: when enqueued, never at a graph''s replay.';
COMMENT ON COLUMN nccl_call.run IS 'Run.';
COMMENT ON COLUMN nccl_call.file_id IS 'Log within the run.';
COMMENT ON COLUMN nccl_call.at_byte IS 'Byte of the log at which the line begins: their order.';
COMMENT ON COLUMN nccl_call.source IS 'coll (subsystem COLL) or call (NCCL CALL).';
COMMENT ON COLUMN nccl_call.logged_ns IS 'Time of the line, ns since the epoch (UTC where it names no zone); NULL where it has none.';
COMMENT ON COLUMN nccl_call.host IS 'Host as the line''s prefix has it.';
COMMENT ON COLUMN nccl_call.pid IS 'Process.';
COMMENT ON COLUMN nccl_call.tid IS 'Thread.';
COMMENT ON COLUMN nccl_call.comm IS 'Pointer of the communicator.';
COMMENT ON COLUMN nccl_call.rank IS 'Rank within the communicator; NULL where no line tells.';
COMMENT ON COLUMN nccl_call.n_ranks IS 'Ranks of the communicator; NULL where unknown.';
COMMENT ON COLUMN nccl_call.collective IS 'AllReduce, ... as logged.';
COMMENT ON COLUMN nccl_call.category IS 'all_reduce, ...';
COMMENT ON COLUMN nccl_call.op_count IS 'opCount: a hint, no sequence number (NCCL 2.27 leaves it at 0 on one node).';
COMMENT ON COLUMN nccl_call.n_elements IS 'count: per rank for gathering and scattering collectives.';
COMMENT ON COLUMN nccl_call.dtype IS 'bfloat16, ...; NULL for a code that is not known.';
COMMENT ON COLUMN nccl_call.reduction IS 'sum, ...; NULL where it has none or the code is not known.';
COMMENT ON COLUMN nccl_call.root IS 'Root, or peer of Send and Recv.';
COMMENT ON COLUMN nccl_call.bytes IS 'Size of the message, as in table collective; NULL where unknown.';
COMMENT ON COLUMN nccl_call.is_in_place IS 'True where both buffers are one.';
COMMENT ON COLUMN nccl_call.stream IS 'CUDA stream as logged.';

CREATE TABLE nccl_tuning (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    at_byte BIGINT NOT NULL,
    host VARCHAR NOT NULL,
    pid BIGINT NOT NULL,
    tid BIGINT NOT NULL,
    category VARCHAR,
    bytes BIGINT NOT NULL,
    algorithm VARCHAR,
    protocol VARCHAR,
    n_channels INTEGER,
    kernel VARCHAR,
    n_threads INTEGER,
    model_ns BIGINT
);
COMMENT ON TABLE nccl_tuning IS 'One row per choice of algorithm and protocol that NCCL logged, by rank 0 only.';
COMMENT ON COLUMN nccl_tuning.run IS 'Run.';
COMMENT ON COLUMN nccl_tuning.file_id IS 'Log within the run.';
COMMENT ON COLUMN nccl_tuning.at_byte IS 'Byte of the log at which the line begins.';
COMMENT ON COLUMN nccl_tuning.host IS 'Host.';
COMMENT ON COLUMN nccl_tuning.pid IS 'Process.';
COMMENT ON COLUMN nccl_tuning.tid IS 'Thread.';
COMMENT ON COLUMN nccl_tuning.category IS 'all_reduce, ...; NULL in NCCL 2.20 to 2.22, which do not say.';
COMMENT ON COLUMN nccl_tuning.bytes IS 'Bytes as logged: per rank for AllGather and ReduceScatter from 2.24 on, total before.';
COMMENT ON COLUMN nccl_tuning.algorithm IS 'RING, TREE, ...; NULL where undefined.';
COMMENT ON COLUMN nccl_tuning.protocol IS 'LL, LL128, SIMPLE; NULL where undefined.';
COMMENT ON COLUMN nccl_tuning.n_channels IS 'Channels in use; NULL where not logged.';
COMMENT ON COLUMN nccl_tuning.kernel IS 'Kernel, or how the copy engines do it; NULL elsewhere.';
COMMENT ON COLUMN nccl_tuning.n_threads IS 'Threads of a block; NULL elsewhere.';
COMMENT ON COLUMN nccl_tuning.model_ns IS 'Time the model expects, no measurement; NULL where not logged.';

CREATE TABLE nccl_model (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    at_byte BIGINT NOT NULL,
    host VARCHAR NOT NULL,
    pid BIGINT NOT NULL,
    category VARCHAR NOT NULL,
    algorithm VARCHAR NOT NULL,
    protocol VARCHAR NOT NULL,
    latency_ns DOUBLE NOT NULL,
    algbw_gb_per_s DOUBLE NOT NULL,
    max_threads INTEGER
);
COMMENT ON TABLE nccl_model IS 'One row per (communicator''s log, collective, algorithm, protocol): NCCL''s table of latency and bandwidth.';
COMMENT ON COLUMN nccl_model.run IS 'Run.';
COMMENT ON COLUMN nccl_model.file_id IS 'Log within the run.';
COMMENT ON COLUMN nccl_model.at_byte IS 'Byte of the log at which the line begins.';
COMMENT ON COLUMN nccl_model.host IS 'Host.';
COMMENT ON COLUMN nccl_model.pid IS 'Process.';
COMMENT ON COLUMN nccl_model.category IS 'all_reduce, ...';
COMMENT ON COLUMN nccl_model.algorithm IS 'RING, TREE, ...';
COMMENT ON COLUMN nccl_model.protocol IS 'LL, LL128 or SIMPLE.';
COMMENT ON COLUMN nccl_model.latency_ns IS 'Latency.';
COMMENT ON COLUMN nccl_model.algbw_gb_per_s IS 'Bandwidth of the algorithm, GB/s; 0 where it is not to be used.';
COMMENT ON COLUMN nccl_model.max_threads IS 'Max NThreads of the table''s head; NULL where not logged.';

CREATE TABLE nccl_link (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    at_byte BIGINT NOT NULL,
    host VARCHAR NOT NULL,
    pid BIGINT NOT NULL,
    channel INTEGER NOT NULL,
    connection INTEGER,
    from_rank INTEGER NOT NULL,
    to_rank INTEGER NOT NULL,
    direction VARCHAR,
    transport VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    comm VARCHAR
);
COMMENT ON TABLE nccl_link IS 'One row per connection of a channel that NCCL logged.';
COMMENT ON COLUMN nccl_link.run IS 'Run.';
COMMENT ON COLUMN nccl_link.file_id IS 'Log within the run.';
COMMENT ON COLUMN nccl_link.at_byte IS 'Byte of the log at which the line begins.';
COMMENT ON COLUMN nccl_link.host IS 'Host.';
COMMENT ON COLUMN nccl_link.pid IS 'Process.';
COMMENT ON COLUMN nccl_link.channel IS 'Channel.';
COMMENT ON COLUMN nccl_link.connection IS 'Index of the connection; NULL where not logged.';
COMMENT ON COLUMN nccl_link.from_rank IS 'Sending rank.';
COMMENT ON COLUMN nccl_link.to_rank IS 'Receiving rank.';
COMMENT ON COLUMN nccl_link.direction IS 'send or receive, of network connections; NULL elsewhere.';
COMMENT ON COLUMN nccl_link.transport IS 'P2P, SHM, NET or COLLNET.';
COMMENT ON COLUMN nccl_link.detail IS 'What follows: CUMEM/read, direct/direct, IB/0/GDRDMA, ...';
COMMENT ON COLUMN nccl_link.comm IS 'Pointer of the communicator; NULL where no line, or more than one communicator, would do.';

CREATE TABLE nccl_note (
    run VARCHAR NOT NULL,
    file_id INTEGER NOT NULL,
    at_byte BIGINT NOT NULL,
    logged_ns BIGINT,
    host VARCHAR,
    pid BIGINT,
    kind VARCHAR NOT NULL,
    name VARCHAR,
    value VARCHAR NOT NULL,
    facts JSON
);
COMMENT ON TABLE nccl_note IS 'One row per other fact of NCCL''s logs that topology or trouble is told from.';
COMMENT ON COLUMN nccl_note.run IS 'Run.';
COMMENT ON COLUMN nccl_note.file_id IS 'Log within the run.';
COMMENT ON COLUMN nccl_note.at_byte IS 'Byte of the log at which the line begins.';
COMMENT ON COLUMN nccl_note.logged_ns IS 'Time of the line, ns since the epoch (UTC where it names no zone); NULL where it has none.';
COMMENT ON COLUMN nccl_note.host IS 'Host; NULL where the line has no prefix.';
COMMENT ON COLUMN nccl_note.pid IS 'Process; NULL likewise.';
COMMENT ON COLUMN nccl_note.kind IS 'version, setting, ring, trees, system, node, path, pattern, connected, p2p_off, warning, backtrace, other.';
COMMENT ON COLUMN nccl_note.name IS 'What it is about: a variable, a pattern''s number, file and line of a warning, ...';
COMMENT ON COLUMN nccl_note.value IS 'What it says.';
COMMENT ON COLUMN nccl_note.facts IS 'Its figures by name, where the line has several; else NULL.';
