"""Which step, phase and scope an activity belongs to, and what of its category was exposed."""

from traces import ALL_REDUCE, GEMM, NORM, Trace, ingest

STEP = "execute_context_0(0)_generation_1(1)"


def rows(db, columns, where="true"):
    return db.sql(f"SELECT {columns} FROM activities WHERE {where} ORDER BY start_ns").fetchall()


def test_the_launch_decides_not_the_time_on_the_device(tmp_path):
    trace = Trace()
    for start in (100, 200):
        trace.scope(STEP, start, 50)
        trace.scope("gpu_model_runner: forward", start + 10, 20)
        trace.scope("gpu_model_runner: sample", start + 60, 20)
    # The host is a step ahead: both run while the host is in the second step.
    trace.run(GEMM, 115, 260, 10).run(NORM, 165, 270, 5)
    db = ingest(tmp_path, trace)
    assert rows(db, "step, phase, phase_source, scope") == [
        (0, "forward", "engine", "gpu_model_runner: forward"),
        (0, "sample", "engine", "gpu_model_runner: sample"),
    ]


def test_the_innermost_scope_counts_and_annotations_of_others_do_not(tmp_path):
    trace = Trace().scope(STEP, 100, 90).scope("gpu_model_runner: forward", 110, 70)
    trace.scope("nccl:all_reduce", 120, 10).scope("user's own", 140, 20)
    trace.run(ALL_REDUCE, 125, 200, 5).run(GEMM, 145, 210, 5).run(NORM, 185, 220, 5)
    db = ingest(tmp_path, trace)
    assert rows(db, "phase, phase_source, scope") == [
        ("forward", "engine", "nccl:all_reduce"),
        ("forward", "engine", "user's own"),
        ("forward", "span", STEP),
    ]


def test_a_scope_of_another_thread_does_not_count(tmp_path):
    trace = Trace().scope(STEP, 100, 90, tid=1)
    trace.scope("gpu_model_runner: draft", 110, 70, tid=2)
    trace.run(GEMM, 120, 200, 5, tid=1).run(GEMM, 130, 210, 5, tid=2)
    db = ingest(tmp_path, trace)
    assert rows(db, "phase, scope") == [("forward", STEP), ("draft", "gpu_model_runner: draft")]


def test_scopes_that_touch_or_share_a_start_nest_by_length(tmp_path):
    trace = Trace().scope(STEP, 100, 100).scope("gpu_model_runner: preprocess", 100, 20)
    trace.scope("gpu_model_runner: forward", 120, 30).scope(
        "gpu_model_runner: postprocess", 150, 10
    )
    for launch in (100, 119, 120, 150, 160):
        trace.run(GEMM, launch, launch + 200, 1)
    db = ingest(tmp_path, trace)
    assert rows(db, "phase, phase_source") == [
        ("prepare", "engine"),
        ("prepare", "engine"),
        ("forward", "engine"),
        ("forward", "engine"),
        ("forward", "span"),
    ]


def test_an_activity_without_launch_is_placed_between_two_of_one_step_only(tmp_path):
    trace = Trace().run(NORM, None, 90, 5)
    for start in (100, 200):
        trace.scope(STEP, start, 50)
        trace.run(GEMM, start + 5, start + 10, 10).run(GEMM, start + 6, start + 30, 10)
    trace.run(NORM, None, 125, 1).run(NORM, None, 150, 1).run(NORM, None, 215, 1, stream=9)
    db = ingest(tmp_path, trace)
    assert rows(db, "step, phase, link", f"name = '{NORM}'") == [
        (None, "other", "none"),  # at the head of the trace
        (0, "forward", "order"),
        (None, "other", "none"),  # between two steps
        (None, "other", "none"),  # alone on its stream
    ]


def test_all_nodes_of_a_graph_have_the_phase_of_its_replay(tmp_path):
    trace = Trace().scope(STEP, 100, 20)
    trace.graph([(NORM, 120, 5, 7), (GEMM, 125, 40, 7), (NORM, 130, 5, 23)], 110)
    db = ingest(tmp_path, trace)
    assert rows(db, "step, phase, correlation, launch_ns") == 3 * [
        (0, "forward", 1, trace.base_ns + 110_000)
    ]


def test_the_op_comes_from_the_external_id(tmp_path):
    trace = Trace().scope(STEP, 100, 90)
    trace.add("cpu_op", "aten::mm", 110, 30, **{"External id": 7})
    trace.add("cpu_op", "aten::add", 110, 30, **{"External id": 8})
    trace.add("cuda_runtime", "cudaLaunchKernel", 115, 1, correlation=50)
    trace.add("kernel", GEMM, 130, 5, 7, correlation=50, **{"External id": 7})
    db = ingest(tmp_path, trace)
    assert rows(db, "op") == [("aten::mm",)]


def test_graph_id_zero_is_no_graph(tmp_path):
    trace = Trace().scope(STEP, 100, 90)
    for correlation, graph in ((1, 0), (2, 5)):
        trace.add("cuda_runtime", "cudaLaunchKernel", 110, 1, correlation=correlation)
        graph_args = {"graph id": graph, "graph node id": 3 * graph}
        trace.add("kernel", GEMM, 120 + correlation, 1, 7, correlation=correlation, **graph_args)
    db = ingest(tmp_path, trace)
    assert rows(db, "graph_id, graph_node_id") == [(None, None), (5, 15)]


def test_exposed_is_what_no_other_category_covers(tmp_path):
    trace = Trace().scope(STEP, 100, 90)
    trace.run(GEMM, 110, 250, 30, stream=8).run(ALL_REDUCE, 111, 200, 100)
    trace.run(NORM, 112, 290, 20, stream=9).run(ALL_REDUCE, 113, 295, 10, stream=10)
    db = ingest(tmp_path, trace)
    assert db.sql(
        "SELECT category, n, sum_ns, busy_ns, exposed_ns FROM step_breakdown ORDER BY category"
    ).fetchall() == [
        ("all_reduce", 2, 110_000, 105_000, 60_000),  # 200-250 and 280-290
        ("gemm", 1, 30_000, 30_000, 0),
        ("norm", 1, 20_000, 20_000, 5_000),  # 305-310
    ]


def test_two_steps_of_one_category_do_not_cover_each_other(tmp_path):
    trace = Trace().scope(STEP, 100, 20).run(GEMM, 105, 110, 100)
    trace.scope(STEP, 150, 20).run(GEMM, 155, 200, 30)
    db = ingest(tmp_path, trace)
    assert db.sql(
        "SELECT step, busy_ns, exposed_ns, overhang_ns FROM step_breakdown ORDER BY step"
    ).fetchall() == [(0, 100_000, 100_000, 10_000), (1, 30_000, 30_000, 0)]
    assert db.sql("SELECT busy_ns, idle_ns FROM steps ORDER BY step").fetchall() == [
        (90_000, 0),
        (30_000, 0),
    ]


def test_overlap_on_one_stream_counts_once_in_busy(tmp_path):
    trace = Trace().scope(STEP, 100, 20).run(GEMM, 105, 110, 20).run(GEMM, 106, 125, 20)
    db = ingest(tmp_path, trace)
    assert db.sql("SELECT sum_ns, busy_ns FROM step_phases").fetchall() == [(40_000, 35_000)]


def test_on_cpu_the_innermost_op_that_works_is_the_activity(tmp_path):
    trace = Trace(device=False).scope(STEP, 100, 100).scope("gpu_model_runner: forward", 105, 90)
    trace.op("Torch-Compiled Region: 0/0", 108, 80)
    trace.op("aten::linear", 110, 50).op("aten::view", 112, 2).op("_C::onednn_mm", 115, 40)
    trace.op("aten::silu", 165, 10).op("aten::empty", 167, 3)
    db = ingest(tmp_path, trace)
    assert rows(db, "name, category, dur_ns, phase, link, stream, launch_ns") == [
        ("_C::onednn_mm", "gemm", 40_000, "forward", "host", 1, None),
        ("aten::silu", "activation", 10_000, "forward", "host", 1, None),
    ]
    assert db.sql("SELECT start_ns, dur_ns, busy_ns FROM steps").fetchall() == [
        (trace.base_ns + 100_000, 100_000, 50_000)
    ]


def test_correlation_zero_links_nothing(tmp_path):
    trace = Trace()
    for start in (100, 200):
        trace.scope(STEP, start, 50)
        trace.add("cuda_runtime", "cudaLaunchKernel", start + 5, 1, correlation=0)
        trace.add("kernel", GEMM, start + 10, 5, 7, correlation=0, stream=7)
    db = ingest(tmp_path, trace)
    assert rows(db, "step, launch_ns, link") == [(None, None, "none")] * 2


def test_of_several_calls_with_one_id_the_latest_before_counts(tmp_path):
    trace = Trace()
    for start in (100, 200, 300):
        trace.scope(STEP, start, 50)
        trace.add("cuda_runtime", "cudaLaunchKernel", start + 5, 1, correlation=9)
        trace.add("kernel", GEMM, start + 10, 5, 7, correlation=9, stream=7)
    trace.add("kernel", NORM, 50, 5, 7, correlation=9, stream=7)
    db = ingest(tmp_path, trace)
    assert rows(db, "step, launch_ns - start_ns, link") == [
        (None, None, "none"),
        (0, -5_000, "launch"),
        (1, -5_000, "launch"),
        (2, -5_000, "launch"),
    ]
    [(example,)] = db.sql(
        "SELECT example FROM ingest_ledger WHERE starts_with(reason, 'correlation id of several')"
    ).fetchall()
    assert example.startswith("4 activities, such as ")


def test_a_kernel_before_its_launch_gives_no_negative_delay(tmp_path):
    trace = Trace().scope(STEP, 100, 50).run(GEMM, 120, 110, 5).run(GEMM, 125, 130, 5)
    db = ingest(tmp_path, trace)
    assert db.sql("SELECT launch_delay_ns FROM steps").fetchall() == [(5_000,)]


def test_fewer_tokens_than_requests_are_no_drafts(tmp_path):
    trace = Trace().scope("execute_context_0(0)_generation_5(1)", 100, 50).run(GEMM, 110, 120, 5)
    db = ingest(tmp_path, trace)
    assert db.sql("SELECT is_verify, n_draft_tokens FROM steps").fetchall() == [(False, 0)]
