"""Scopes of tracekit's plugin: they decide first, and alone leave prepare and other to the span."""

from traces import DTOH, GEMM, HTOD, NORM, Trace, ingest

STEP = "execute_context_0(0)_generation_1(2)"


def phases(db, where="true"):
    columns = "name, phase, phase_source"
    query = f"SELECT {columns} FROM activities WHERE {where} ORDER BY launch_ns"
    return [(phase, source) for _, phase, source in db.sql(query).fetchall()]


def v1_step(trace, start, with_engine=False):
    """Inputs, pass, gather, logits, a kernel before sampling, sampling, drafting, bookkeeping."""
    trace.scope(STEP, start, 40)
    trace.scope("tracekit: forward", start + 10, 10)
    trace.scope("tracekit: logits", start + 25, 5)
    trace.scope("tracekit: sample", start + 50, 10)
    trace.scope("tracekit: draft", start + 70, 10)
    if with_engine:
        trace.scope("gpu_model_runner: preprocess", start + 1, 8)
        trace.scope("gpu_model_runner: forward", start + 9, 12)
        trace.scope("gpu_model_runner: postprocess", start + 22, 10)
        trace.scope("gpu_model_runner: sample", start + 49, 12)
        trace.scope("gpu_model_runner: bookkeep", start + 62, 4)
        trace.scope("gpu_model_runner: draft", start + 68, 15)
    for name, launch in (
        (HTOD, 2),
        (GEMM, 12),
        ("gather", 22),
        (GEMM, 26),
        (NORM, 44),
        ("argmax", 52),
        (DTOH, 64),
        (GEMM, 72),
        ("bookkeeping", 82),
    ):
        trace.run(name, start + launch, start + launch + 1, 1)
    return trace


def test_alone_they_leave_prepare_and_other_to_the_span(tmp_path):
    db = ingest(tmp_path, v1_step(v1_step(Trace(), 100), 200))
    assert phases(db, "step = 0") == [
        ("prepare", "span"),
        ("verify", "plugin"),
        ("verify", "span"),
        ("verify", "plugin"),
        ("other", "span"),
        ("sample", "plugin"),
        ("other", "span"),
        ("draft", "plugin"),
        ("other", "span"),
    ]


def test_the_engines_scopes_come_second(tmp_path):
    db = ingest(tmp_path, v1_step(v1_step(Trace(), 100, with_engine=True), 200, with_engine=True))
    assert phases(db, "step = 0") == [
        ("prepare", "engine"),
        ("verify", "plugin"),
        ("verify", "engine"),
        ("verify", "plugin"),
        ("other", "span"),
        ("sample", "plugin"),
        ("other", "engine"),
        ("draft", "plugin"),
        ("draft", "engine"),
    ]


def test_logits_within_sampling_are_the_targets(tmp_path):
    trace = Trace()
    trace.scope(STEP, 100, 30)
    trace.scope("tracekit: forward", 110, 10).scope("tracekit: sample", 140, 20)
    trace.scope("tracekit: logits", 142, 6)
    for launch in (112, 144, 150):
        trace.run(GEMM, launch, launch + 1, 1)
    db = ingest(tmp_path, trace)
    assert phases(db) == [("verify", "plugin"), ("verify", "plugin"), ("sample", "plugin")]


def test_what_v2_updates_after_sampling_is_sampling(tmp_path):
    trace = Trace()
    for start in (100, 200):
        trace.scope(STEP, start, 30)
        trace.scope("tracekit: forward", start + 10, 10).scope("tracekit: sample", start + 40, 10)
        trace.run("_prepare_pos_seq_lens_kernel", start + 1, start + 2, 1)
        trace.run(GEMM, start + 12, start + 13, 10)
        trace.run("_gumbel_sample_kernel", start + 42, start + 43, 1)
        trace.run("_post_update_kernel", start + 52, start + 53, 1)
        trace.run(DTOH, start + 54, start + 55, 1)
        trace.run(GEMM, start + 60, start + 61, 1)
    db = ingest(tmp_path, trace)
    assert phases(db, "step = 0") == [
        ("prepare", "span"),
        ("verify", "plugin"),
        ("sample", "plugin"),
        ("sample", "kernels"),
        ("other", "span"),
        ("other", "span"),
    ]


def test_without_a_scope_of_the_pass_the_rest_is_told_as_before(tmp_path):
    trace = Trace()
    trace.scope(STEP, 100, 30).scope("tracekit: sample", 140, 10)
    for name, launch in ((HTOD, 102), (GEMM, 112), (NORM, 142), (NORM, 152)):
        trace.run(name, launch, launch + 1, 1)
    db = ingest(tmp_path, trace)
    assert phases(db) == [
        ("prepare", "span"),
        ("verify", "span"),
        ("sample", "plugin"),
        ("other", "span"),
    ]


def test_on_cpu_the_op_lies_in_the_scope(tmp_path):
    trace = Trace(device=False)
    trace.scope(STEP, 100, 30)
    trace.scope("tracekit: forward", 110, 10).scope("tracekit: sample", 140, 10)
    for start in (102, 112, 142):
        trace.op("aten::mm", start, 2)
    db = ingest(tmp_path, trace)
    query = "SELECT phase, phase_source FROM activities ORDER BY start_ns"
    assert db.sql(query).fetchall() == [
        ("prepare", "span"),
        ("verify", "plugin"),
        ("sample", "plugin"),
    ]


def host_times(db):
    query = (
        "SELECT phase, host_dur_ns, phase_source FROM step_phases"
        " WHERE step = 0 AND host_dur_ns IS NOT NULL ORDER BY host_start_ns"
    )
    return db.sql(query).fetchall()


def test_host_time_of_a_phase_is_that_of_the_plugins_scopes(tmp_path):
    db = ingest(tmp_path, v1_step(Trace(), 100))
    assert host_times(db) == [
        ("verify", 15_000, "plugin"),
        ("sample", 10_000, "plugin"),
        ("draft", 10_000, "plugin"),
    ]


def test_host_time_of_both_is_that_of_the_engines_where_the_plugins_lie_within(tmp_path):
    db = ingest(tmp_path, v1_step(Trace(), 100, with_engine=True))
    assert host_times(db) == [
        ("prepare", 8_000, "engine"),
        ("verify", 22_000, "plugin"),
        ("sample", 12_000, "plugin"),
        ("other", 4_000, "engine"),
        ("draft", 15_000, "plugin"),
    ]


def test_host_time_without_activities_is_the_plugins_too(tmp_path):
    trace = Trace()
    trace.scope(STEP, 100, 30).scope("tracekit: forward", 110, 10)
    trace.run(GEMM, 112, 113, 10)
    trace.scope("tracekit: draft", 140, 7)
    db = ingest(tmp_path, trace)
    assert host_times(db) == [("verify", 10_000, "plugin"), ("draft", 7_000, "plugin")]


def test_a_model_kernel_among_the_inputs_does_not_begin_the_pass(tmp_path):
    # vLLM's own `preprocess` may look something up in a table, as an embedding does.
    trace = Trace().scope(STEP, 100, 40)
    trace.scope("gpu_model_runner: preprocess", 101, 8)
    trace.scope("gpu_model_runner: forward", 120, 10)
    for name, launch in ((NORM, 102), ("fill", 112), (GEMM, 122)):
        trace.run(name, launch, launch + 1, 1)
    assert phases(ingest(tmp_path, trace)) == [
        ("prepare", "engine"),
        ("prepare", "span"),
        ("verify", "engine"),
    ]
