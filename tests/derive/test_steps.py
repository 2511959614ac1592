"""Steps by hand: where they begin and end, how they are numbered, what a window holds."""

import pytest
from traces import ALL_REDUCE, DTOH, GEMM, HTOD, NORM, Trace, decode, ingest

EMPTY = "execute_context_0(0)_generation_0(0)"


def steps(db, *columns):
    return db.sql(f"SELECT {', '.join(columns)} FROM steps ORDER BY rank, step").fetchall()


def test_a_window_runs_from_anchor_to_anchor_and_the_last_to_its_last_activity(tmp_path):
    trace = decode(decode(Trace(), 100), 200)
    db = ingest(tmp_path, trace)
    base = trace.base_ns
    assert steps(db, "start_ns", "dur_ns", "busy_ns", "idle_ns", "host_dur_ns") == [
        (base + 110_000, 100_000, 31_000, 69_000, 100_000),
        (base + 210_000, 31_000, 31_000, 0, 31_000),
    ]


def test_work_of_a_step_that_runs_in_the_next_window_overhangs(tmp_path):
    trace = decode(Trace(), 100)
    trace.run(NORM, 131, 205, 10, stream=9)
    decode(trace, 200)
    db = ingest(tmp_path, trace)
    assert db.sql(
        "SELECT category, sum_ns, overhang_ns FROM step_breakdown"
        " WHERE step = 0 AND category = 'norm'"
    ).fetchall() == [("norm", 10_000, 5_000)]
    # The window of step 1 counts all that runs in it, step 0's rest too.
    assert steps(db, "step", "busy_ns")[1] == (1, 31_000)


def test_idle_time_is_starved_where_nothing_was_queued(tmp_path):
    trace = Trace()
    trace.scope("execute_context_0(0)_generation_1(1)", 100, 100)
    trace.run(GEMM, 110, 120, 10)
    trace.run(GEMM, 115, 150, 10)
    trace.run(GEMM, 190, 200, 10)
    db = ingest(tmp_path, trace)
    # 130-150 is idle though the second was queued; of 160-200 nothing was queued until 190.
    assert steps(db, "idle_ns", "starved_ns", "launch_delay_ns") == [(60_000, 30_000, 10_000)]


def test_a_gap_over_an_empty_step_is_waiting_for_work(tmp_path):
    trace = decode(Trace(), 100)
    trace.scope(EMPTY, 150, 5)
    decode(trace, 300)
    db = ingest(tmp_path, trace)
    # Nothing was queued in the gap, but for want of work: the device did not wait for the host.
    columns = "kind", "start_ns IS NULL", "idle_ns", "wait_for_work_ns", "starved_ns"
    assert steps(db, *columns) == [
        ("decode", False, 0, 169_000, 0),
        ("idle", True, None, None, None),
        ("decode", False, 0, 0, 0),
    ]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("execute_context_0(0)_generation_2(2)", ("decode", 0, 0, 2, 2, False, 0)),
        ("execute_context_0(0)_generation_2(8)", ("decode", 0, 0, 2, 8, True, 6)),
        ("execute_context_1(17)_generation_0(0)", ("prefill", 1, 17, 0, 0, False, 0)),
        ("execute_context_3(135)_generation_1(4)", ("mixed", 3, 135, 1, 4, True, 3)),
        ("execute_context_1(888_788544)_generation_0(0)", ("prefill", 1, 888, 0, 0, False, 0)),
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk9sqsq32sqsk9)",
            ("decode", 0, 0, 32, 32, False, 0),
        ),
        ("execute_new_1_cached_0", ("prefill", 1, None, 0, None, False, 0)),
        ("execute_new_0_cached_3", ("decode", 0, None, 3, None, False, 0)),
        ("execute_new_1_cached_3", ("mixed", 1, None, 3, None, False, 0)),
    ],
)
def test_annotations_of_every_form_are_read(tmp_path, annotation, expected):
    trace = Trace().scope(annotation, 100, 50).run(GEMM, 110, 120, 10)
    db = ingest(tmp_path, trace)
    columns = "kind n_prefill_reqs n_prefill_tokens n_decode_reqs n_decode_tokens"
    columns += " is_verify n_draft_tokens"
    assert steps(db, *columns.split()) == [expected]


def test_a_rejection_kernel_tells_a_verify_step_whose_annotation_counts_no_tokens(tmp_path):
    trace = Trace().scope("execute_new_0_cached_1", 100, 20).run(GEMM, 105, 110, 10)
    trace.run("rejection_greedy_sample_kernel", 130, 140, 2)
    db = ingest(tmp_path, trace)
    assert steps(db, "is_verify", "n_draft_tokens") == [(True, None)]
    assert db.sql("SELECT DISTINCT phase FROM activities WHERE category = 'gemm'").fetchall() == [
        ("verify",)
    ]


def test_the_last_step_is_cut_where_it_lacks_a_phase_the_others_have(tmp_path):
    trace = Trace()
    for start in (100, 200, 300):
        trace.scope("execute_context_0(0)_generation_1(1)", start, 20)
        trace.run(GEMM, start + 5, start + 10, 30)
        if start < 300:
            trace.run("_topk_topp_sample_kernel", start + 25, start + 40, 5)
    db = ingest(tmp_path, trace)
    assert steps(db, "is_complete") == [(True,), (True,), (False,)]


def test_ranks_of_one_host_are_numbered_by_annotation_and_clock(tmp_path):
    early, late = Trace(rank=0), Trace(rank=1)
    for start in (100, 200, 300):
        decode(early, start)
    for start in (203, 303):
        decode(late, start)
    db = ingest(tmp_path, early, late)
    assert steps(db, "rank", "step") == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]


def test_files_with_another_base_time_are_aligned_in_absolute_time(tmp_path):
    first, second = Trace(rank=0), Trace(rank=1, base_ns=Trace().base_ns - 3_600_000_000_000)
    for start in (100, 200):
        decode(first, start)
        decode(second, start + 3_600_000_000)
    db = ingest(tmp_path, first, second)
    assert steps(db, "step", "start_ns") == 2 * [
        (0, first.base_ns + 110_000),
        (1, first.base_ns + 210_000),
    ]


def test_hosts_are_aligned_by_the_order_of_annotations(tmp_path):
    here, there = Trace(rank=0, host="a"), Trace(rank=1, host="b")
    for place, n in enumerate((1, 2, 3, 4)):
        decode(here, 100 + 100 * place, n=n, tokens=n)
    # Profiling began a step later there, and its clock is far off.
    for place, n in enumerate((2, 3, 4)):
        decode(there, 5_000_100 + 100 * place, n=n, tokens=n)
    db = ingest(tmp_path, here, there)
    assert steps(db, "rank", "step", "n_decode_reqs") == [
        (0, 0, 1),
        (0, 1, 2),
        (0, 2, 3),
        (0, 3, 4),
        (1, 1, 2),
        (1, 2, 3),
        (1, 3, 4),
    ]


def test_steps_that_match_no_other_rank_have_no_number_and_are_in_the_ledger(tmp_path):
    here, there = Trace(rank=0, host="a"), Trace(rank=1, host="b")
    for place, n in enumerate((1, 2, 3)):
        decode(here, 100 + 100 * place, n=n, tokens=n)
    for place, n in enumerate((7, 8)):
        decode(there, 100 + 100 * place, n=n, tokens=n)
    db = ingest(tmp_path, here, there)
    assert steps(db, "rank", "step") == [(0, 0), (0, 1), (0, 2)]
    assert db.sql("SELECT count(*), count(step) FROM activities WHERE rank = 1").fetchall() == [
        (4, 0)
    ]
    [(file, reason)] = db.sql(
        "SELECT file, reason FROM ingest_ledger WHERE contains(reason, 'other ranks')"
    ).fetchall()
    assert file.startswith("rank1")


def test_without_annotation_each_replay_of_the_largest_repeating_graph_is_a_step(tmp_path):
    trace = Trace()
    for start in (100, 200, 300):
        trace.run(HTOD, start - 20, start - 15, 2)
        trace.graph(
            [(NORM, start, 5, 7), (GEMM, start + 5, 20, 7), (NORM, start + 25, 5, 7)], start - 5
        )
        trace.graph([(NORM, start + 40, 1, 7), (NORM, start + 42, 1, 7)], start)
    db = ingest(tmp_path, trace)
    assert steps(db, "kind", "start_ns") == [
        ("unknown", trace.base_ns + start * 1000) for start in (100, 200, 300)
    ]
    assert db.sql(
        "SELECT phase, phase_source, count(*) FROM activities GROUP BY ALL ORDER BY ALL"
    ).fetchall() == [("forward", "graph", 9), ("other", "none", 6), ("prepare", "graph", 3)]


def test_without_any_sign_all_is_one_step_whose_phase_is_not_guessed(tmp_path):
    trace = Trace().run(GEMM, 100, 110, 10).run(NORM, 120, 130, 5)
    db = ingest(tmp_path, trace)
    assert steps(db, "step", "kind", "annotation", "dur_ns") == [(0, "unknown", None, 25_000)]
    assert db.sql("SELECT DISTINCT phase, phase_source FROM activities").fetchall() == [
        ("other", "none")
    ]


def test_profiler_steps_of_plain_torch_are_steps(tmp_path):
    trace = Trace()
    for place, start in enumerate((100, 200)):
        trace.scope(f"ProfilerStep#{place + 5}", start, 100)
        trace.run(GEMM, start + 10, start + 20, 10).run(ALL_REDUCE, start + 30, start + 40, 10)
    db = ingest(tmp_path, trace)
    assert steps(db, "step", "annotation", "dur_ns") == [
        (0, "ProfilerStep#5", 100_000),
        (1, "ProfilerStep#6", 30_000),
    ]


def test_an_output_copy_is_other_wherever_it_runs(tmp_path):
    db = ingest(tmp_path, decode(Trace(), 100))
    assert db.sql(f"SELECT phase FROM activities WHERE name = '{DTOH}'").fetchall() == [("other",)]


def test_work_in_a_wait_for_work_is_busy_not_waiting(tmp_path):
    trace = decode(Trace(), 100)
    trace.scope(EMPTY, 150, 5).run(HTOD, 151, 200, 50)
    trace.run(NORM, None, 300, 9)
    decode(trace, 350)
    db = ingest(tmp_path, trace)
    columns = "dur_ns", "busy_ns", "idle_ns", "wait_for_work_ns", "starved_ns"
    assert steps(db, *columns)[0] == (250_000, 90_000, 0, 160_000, 0)


def test_a_gap_before_the_wait_is_still_starved(tmp_path):
    trace = Trace().scope("execute_context_0(0)_generation_1(1)", 100, 30)
    trace.run(GEMM, 105, 110, 10).run(GEMM, 145, 150, 10)
    trace.scope(EMPTY, 170, 5)
    decode(trace, 300)
    db = ingest(tmp_path, trace)
    columns = "idle_ns", "wait_for_work_ns", "starved_ns"
    assert steps(db, *columns)[0] == (30_000, 150_000, 25_000)


def test_an_empty_step_has_no_window_even_with_work(tmp_path):
    trace = decode(Trace(), 100)
    trace.scope(EMPTY, 150, 5).run(NORM, 151, 200, 5)
    decode(trace, 250)
    db = ingest(tmp_path, trace)
    assert steps(db, "kind", "dur_ns", "wait_for_work_ns") == [
        ("decode", 150_000, 114_000),
        ("idle", None, None),
        ("decode", 31_000, 0),
    ]


def test_an_empty_step_of_no_length_counts_in_a_trace_of_whole_microseconds(tmp_path):
    trace = decode(Trace(), 100)
    trace.scope(EMPTY, 150, 0)
    decode(trace, 250)
    db = ingest(tmp_path, trace)
    assert steps(db, "idle_ns", "wait_for_work_ns") == [(0, 119_000), (None, None), (0, 0)]


def test_a_gap_that_an_unlinked_activity_ends_is_not_held_against_the_host(tmp_path):
    trace = Trace().scope("execute_context_0(0)_generation_1(1)", 100, 60)
    trace.run(GEMM, 105, 110, 10).run(NORM, None, 150, 10).run(GEMM, 106, 160, 10)
    db = ingest(tmp_path, trace)
    assert steps(db, "idle_ns", "starved_ns") == [(30_000, 0)]


def test_hosts_with_one_annotation_throughout_are_aligned_by_their_collectives(tmp_path):
    here, there = Trace(rank=0, host="a"), Trace(rank=1, host="b")
    for trace, places in ((here, range(6)), (there, range(2, 6))):
        for place in places:
            decode(trace, 100 + 100 * place)
            trace.run(ALL_REDUCE, 106 + 100 * place, 150 + 100 * place, 10)
    db = ingest(tmp_path, here, there)
    assert steps(db, "rank", "step")[6:] == [(1, 2), (1, 3), (1, 4), (1, 5)]


def test_hosts_that_share_but_one_step_are_not_aligned(tmp_path):
    here, there = Trace(rank=0, host="a"), Trace(rank=1, host="b")
    for place, n in enumerate((1, 1, 2, 1)):
        decode(here, 100 + 100 * place, n=n, tokens=n)
    for place, n in enumerate((2, 2, 2, 1)):
        decode(there, 100 + 100 * place, n=n, tokens=n)
    db = ingest(tmp_path, here, there)
    assert {rank for rank, _ in steps(db, "rank", "step")} == {0}


def test_the_gpu_is_named_where_the_rank_is_not(tmp_path):
    trace = decode(Trace(rank=None), 100)
    assert ingest(tmp_path, trace).sql("SELECT gpu FROM runs").fetchall() == [("Made-up GPU",)]


def test_the_main_stream_is_the_one_with_most_kernel_time(tmp_path):
    trace = Trace()
    for start in (100, 400):
        trace.run(HTOD, None, start, 2, stream=7)
        trace.run("_prepare_pos_seq_lens_kernel", None, start + 5, 1, stream=7)
        trace.run(GEMM, None, start + 10, 100, stream=7)
        for place in range(6):
            trace.run(NORM, None, start + 20 + 10 * place, 1, stream=9)
    db = ingest(tmp_path, trace)
    assert steps(db, "start_ns", "main_stream") == [
        (trace.base_ns + 105_000, 7),
        (trace.base_ns + 405_000, 7),
    ]
    copies = db.sql(f"SELECT step, phase, link FROM activities WHERE name = '{HTOD}' ORDER BY step")
    assert copies.fetchall() == [(0, "prepare", "order"), (1, "prepare", "order")]


def v2_step(trace, start):
    trace.scope("execute_context_0(0)_generation_1(1)", start, 30)
    trace.run("_prepare_pos_seq_lens_kernel", start + 1, start + 2, 1)
    trace.run(GEMM, start + 5, start + 10, 10).run(GEMM, start + 32, start + 33, 5)
    trace.run(NORM, start + 34, start + 40, 1).run(
        "_gumbel_sample_kernel", start + 36, start + 42, 1
    )
    trace.run("_post_update_kernel", start + 38, start + 44, 1)
    return trace.run(HTOD, start + 90, start + 91, 1)


def test_v2_samples_after_its_last_gemm_and_drafts_only_where_drafts_are_checked(tmp_path):
    db = ingest(tmp_path, v2_step(v2_step(Trace(), 100), 200))
    assert db.sql(
        "SELECT phase, phase_source, count(*) FROM activities WHERE step = 0"
        " GROUP BY ALL ORDER BY ALL"
    ).fetchall() == [
        ("forward", "kernels", 2),
        ("other", "kernels", 1),
        ("prepare", "kernels", 1),
        ("sample", "kernels", 3),
    ]


def test_a_rank_without_scopes_beside_an_annotated_one_is_no_dummy_engine(tmp_path):
    bare = Trace(rank=1)
    for start in (100, 200):
        bare.graph([(NORM, start, 5, 7), (GEMM, start + 5, 20, 7)], start - 5)
    db = ingest(tmp_path, decode(decode(Trace(), 100), 200), bare)
    assert db.sql("SELECT DISTINCT kind FROM steps WHERE rank = 1").fetchall() == [("unknown",)]


def detailed(*steps):
    """A CPU run of steps given as the tokens scheduled and in all, of prefills and of decodes."""
    trace = Trace(device=False)
    for n, (c, c_new, c_all, g, g_new, g_all, g_squares) in enumerate(steps):
        prefill = f"context_{c}(sq{c_new}sk{c_all}sqsq{c_new**2}sqsk{c_new * c_all})"
        decode_ = f"generation_{g}(sq{g_new}sk{g_all}sqsq{g_squares}sqsk1)"
        trace.scope(f"execute_{c_new + g_new}_{prefill}_{decode_}", 100 * n, 50)
        trace.op("aten::mm", 100 * n + 1, 5)
    return trace


EMPTY_SUMS = (0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("sums", "emitted"),
    [
        # A prompt of 17 tokens, then two decode steps.
        ([(1, 17, 17, 0, 0, 0, 0), (0, 0, 0, 1, 1, 18, 1), (0, 0, 0, 1, 1, 19, 1)], [1, 1, 1]),
        # In two parts: the first emits nothing.
        ([(1, 16, 16, 0, 0, 0, 0), (1, 4, 20, 0, 0, 0, 0), EMPTY_SUMS], [0, 1, 0]),
        # Whether the last prompt is whole cannot be told without the step after it.
        ([(1, 17, 17, 0, 0, 0, 0)], [None]),
        # Three drafts: two accepted, then the request ends, which hides the last.
        (
            [
                (1, 17, 17, 0, 0, 0, 0),
                (0, 0, 0, 1, 4, 21, 16),
                (0, 0, 0, 1, 4, 24, 16),
                EMPTY_SUMS,
            ],
            [1, 3, None, 0],
        ),
        # A second request comes and has its prompt at once: 5 more of the first, 30 of the second.
        ([(1, 30, 30, 1, 6, 46, 36), (0, 0, 0, 2, 12, 87, 72), EMPTY_SUMS], [6, None, 0]),
        # One ends and another begins: the sums are of different requests.
        ([(0, 0, 0, 1, 4, 44, 16), (0, 0, 0, 1, 4, 21, 16), EMPTY_SUMS], [None, None, 0]),
        # One that was preempted comes back with 80 tokens, which are no drafts.
        ([(0, 0, 0, 1, 80, 80, 6_400), (0, 0, 0, 1, 1, 81, 1)], [None, 1]),
    ],
)
def test_detailed_annotations_tell_tokens_emitted(tmp_path, sums, emitted):
    db = ingest(tmp_path, detailed(*sums))
    assert [n for (n,) in steps(db, "n_emitted_tokens")] == emitted


def test_drafts_of_an_engine_that_may_schedule_ahead_are_not_told(tmp_path):
    trace = Trace()
    for start, tokens in ((100, 21), (200, 24)):
        sums = f"(sq0sk0sqsq0sqsk0)_generation_1(sq4sk{tokens}sqsq16sqsk{4 * tokens})"
        trace.scope(f"execute_4_context_0{sums}", start, 20)
        trace.run(GEMM, start + 5, start + 10, 30)
    db = ingest(tmp_path, trace)
    assert steps(db, "n_emitted_tokens") == [(None,), (None,)]
