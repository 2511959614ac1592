"""Runs made by hand; every figure that tests expect can be added up from here on paper."""

import json

from database import add, add_call, us

MARLIN = (
    "void marlin_moe_wna16::Marlin<1125899906909960, 1125899907892224, 128, 1, 8, 8>(int4 const*)"
)
CUSTOM_AR = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)"


def baseline(con, run):
    """Two ranks; step 0 is cut, 1 prefills, 2 and 3 decode one request; step 3 waits for work."""
    add(
        con,
        "run",
        run,
        engine="vllm",
        engine_version="0.32.0",
        model="tiny-moe",
        gpu="H200",
        world_size=2,
        tensor_parallel=2,
        is_synthetic=True,
        source="runs/baseline",
    )
    for rank in (0, 1):
        _trace(con, run, rank)
        _decode_steps(con, run, rank)
    _breakdown(con, run)
    _kernels(con, run)
    _collectives(con, run)
    add(con, "calibration", run, n_ranks=2, bytes=14_336, time_ns=us(32))


def _trace(con, run, rank):
    add(
        con,
        "file",
        run,
        file_id=rank,
        path=f"rank{rank}.json",
        rank=rank,
        events=100,
        window_start_ns=us(1_000),
        window_end_ns=us(9_000),
    )
    add(con, "ledger", run, file_id=rank, events=100, kept=90, skipped=10)
    add(con, "ledger", run, file_id=rank, reason="flow", skipped=8, is_loss=False)
    if rank == 1:
        add(con, "ledger", run, file_id=rank, reason="negative duration", skipped=2, example="{}")


def _decode_steps(con, run, rank):
    cut = {"kind": "decode", "is_complete": rank == 1, "n_decode_reqs": 1, "n_decode_tokens": 1}
    times = {"dur_ns": us(500), "busy_ns": us(500), "idle_ns": 0, "wait_for_work_ns": 0}
    add(con, "step", run, rank=rank, step=0, start_ns=us(1_000), **cut, **times)
    load = {"n_prefill_reqs": 1, "n_prefill_tokens": 17, "n_decode_reqs": 0, "n_decode_tokens": 0}
    times = {"dur_ns": us(800), "busy_ns": us(800), "idle_ns": 0, "wait_for_work_ns": 0}
    add(con, "step", run, rank=rank, step=1, kind="prefill", start_ns=us(1_500), **load, **times)
    load = {"n_prefill_reqs": 0, "n_prefill_tokens": 0, "n_decode_reqs": 1, "n_decode_tokens": 1}
    for step, start, dur, busy, idle, wait in (
        (2, 2_300, 1_000, (900, 800)[rank], (100, 200)[rank], 0),
        (3, 3_300, (2_000, 2_200)[rank], 1_500, (300, 500)[rank], 200),
    ):
        add(
            con,
            "step",
            run,
            rank=rank,
            step=step,
            kind="decode",
            start_ns=us(start),
            dur_ns=us(dur),
            busy_ns=us(busy),
            idle_ns=us(idle),
            wait_for_work_ns=us(wait),
            starved_ns=us(idle / 2),
            launch_delay_ns=us(30 + 10 * rank),
            **load,
        )


def _breakdown(con, run):
    """Per (step, phase, category): count, sum and union on rank 0, union on rank 1."""
    for step, phase, category, n, total, busy0, busy1 in (
        (2, "forward", "all_reduce", 2, 400, 400, 300),
        (2, "forward", "gemm", 4, 550, 500, 500),
        (3, "forward", "all_reduce", 2, 700, 700, 700),
        (3, "forward", "gemm", 4, 750, 700, 700),
        (3, "sample", "sampling", 1, 40, 40, 20),
        (3, "other", "copy", 1, 10, 10, 10),
        (3, "other", "index", 1, 4, 4, 4),
    ):
        for rank, busy in ((0, busy0), (1, busy1)):
            row = {"rank": rank, "step": step, "phase": phase, "n": n, "busy_ns": us(busy)}
            exposed = us(busy - 5 if category == "gemm" else busy)
            add(
                con,
                "step_category",
                run,
                category=category,
                sum_ns=us(total),
                exposed_ns=exposed,
                **row,
            )
    for step, phase, n, busy in (
        (2, "forward", 6, 850),
        (3, "forward", 6, 1_390),
        (3, "sample", 1, 30),
        (3, "other", 2, 14),
    ):
        for rank in (0, 1):
            row = {"rank": rank, "step": step, "phase": phase, "n": n}
            add(con, "step_phase", run, sum_ns=us(busy + 10), busy_ns=us(busy), **row)


def _kernels(con, run):
    """Step 2 as activities: the second Marlin overlaps the first by 50 us."""
    for rank in (0, 1):
        for number, (name, category, impl, start, dur) in enumerate(
            (
                (CUSTOM_AR, "all_reduce", "custom_1stage", 2_300, 200),
                (CUSTOM_AR, "all_reduce", "custom_1stage", 2_500, 200 if rank == 0 else 100),
                (MARLIN, "moe_gemm", "marlin_moe", 2_700, 150),
                (MARLIN, "moe_gemm", "marlin_moe", 2_800, 100),
            )
        ):
            add(
                con,
                "activity",
                run,
                file_id=rank,
                rank=rank,
                activity_id=number,
                name=name,
                category=category,
                impl=impl,
                start_ns=us(start),
                dur_ns=us(dur),
                step=2,
                launch_ns=us(start - 30),
            )
    add(
        con,
        "activity",
        run,
        rank=0,
        activity_id=9,
        name="mystery_kernel",
        category="unknown",
        start_ns=us(900),
        dur_ns=us(60),
        phase="other",
        phase_source="none",
        link="none",
    )
    add(con, "kernel", run, name=CUSTOM_AR, category="all_reduce", impl="custom_1stage", rule="r:1")
    marlin = {"weight_type": "u4b8", "group_size": 32, "tile": "16x128x128"}
    add(
        con,
        "kernel",
        run,
        name=MARLIN,
        category="moe_gemm",
        impl="marlin_moe",
        rule="r:2",
        **marlin,
    )
    add(con, "kernel", run, name="mystery_kernel", category="unknown")


def _collectives(con, run):
    """The all-reduces of steps 2 and 3, and one in no step that only rank 0 has."""
    message = {"bytes": 14_336, "bytes_source": "args", "dtype": "BFloat16", "model_ns": us(20)}
    facts = {"impl": "custom_1stage", "name": CUSTOM_AR, "starved_ns": 0, **message}
    for number, step, starts, durs in (
        (0, 2, (2_300, 2_300), (200, 200)),
        (1, 2, (2_500, 2_600), (200, 100)),
        (2, 3, (3_300, 3_400), (400, 300)),
        (3, 3, (3_900, 3_800), (300, 400)),
    ):
        launched = tuple(us(start - 30) for start in starts)
        add_call(con, run, number, starts, durs, step=step, launch_ns=launched, **facts)
    alone = {"wait_ns": None, "transfer_ns": None, "match": "none"}
    add_call(con, run, 4, (900,), (60,), **facts, **alone)
    for rank in (0, 1):
        early = {"n_early_before": 0, "n_early_after": 0}
        add(con, "clock_offset", run, rank=rank, host_name="a", offset_ns=0, **early)


def eagle3(con, run):
    """One rank, two verify steps of one request with two drafts each, and the counters of both."""
    config = {"speculative_method": "eagle3", "num_speculative_tokens": 2}
    add(con, "run", run, engine="vllm", model="tiny-moe", world_size=1, tensor_parallel=1, **config)
    add(con, "file", run, file_id=0, rank=0, window_start_ns=us(20_000), window_end_ns=us(24_000))
    for step, dur, busy in ((0, 1_000, 950), (1, 1_200, 1_050)):
        add(
            con,
            "step",
            run,
            rank=0,
            step=step,
            kind="decode",
            start_ns=us(20_000 + 1_000 * step),
            dur_ns=us(dur),
            busy_ns=us(busy),
            idle_ns=us(dur - busy),
            n_prefill_reqs=0,
            n_decode_reqs=1,
            n_decode_tokens=3,
            is_verify=True,
            n_draft_tokens=2,
        )
        for phase, phase_busy in (("verify", 700), ("draft", 200), ("sample", 40)):
            row = {"rank": 0, "step": step, "phase": phase, "n": 3, "sum_ns": us(phase_busy)}
            add(con, "step_phase", run, busy_ns=us(phase_busy), **row)
            row = {**row, "category": "all_reduce", "n": 2, "sum_ns": us(100)}
            if phase != "sample":
                add(con, "step_category", run, busy_ns=us(100), exposed_ns=us(100), **row)
    add(con, "file", run, file_id=1, path="notes.bin", kind="other")
    _counters(con, run)
    _windows(con, run)


def _counters(con, run):
    """4 drafts of 2 tokens, 5 accepted: 3 at position 0 and 2 at position 1; 10 before."""
    per_position = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    for name, labels, difference in (
        ("vllm:spec_decode_num_drafts_total", {"engine": "0"}, 4),
        ("vllm:spec_decode_num_draft_tokens_total", {"engine": "0"}, 8),
        ("vllm:spec_decode_num_accepted_tokens_total", {"engine": "0"}, 5),
        (per_position, {"engine": "0", "position": "0"}, 3),
        (per_position, {"engine": "0", "position": "1"}, 2),
        ("vllm:generation_tokens_total", {"engine": "0"}, 9),
    ):
        for moment, value in (("before", 10), ("after", 10 + difference)):
            row = {"name": name, "labels": json.dumps(labels), "moment": moment, "value": value}
            add(con, "counter", run, **row)


def _windows(con, run):
    """The load twice: decode steps of 1,000 us without the profiler, of 1,500 us with it."""
    for name, is_profiled, start, step in (
        ("unprofiled", False, 100_000, 1_000),
        ("profiled", True, 300_000, 1_500),
    ):
        window = {"window_name": name}
        times = {"start_ns": us(start), "dur_ns": us(10_000)}
        add(con, "capture_window", run, is_profiled=is_profiled, concurrency=1, **window, **times)
        for iteration, prefills, dur in ((7, 1, 5_000), (8, 0, step - 100), (9, 0, step + 100)):
            load = {"n_prefill_reqs": prefills, "n_prefill_tokens": 17 * prefills}
            load |= {"n_decode_reqs": 1 - prefills, "n_decode_tokens": 3 * (1 - prefills)}
            add(con, "iteration", run, iteration=iteration, dur_ns=us(dur), **window, **load)
        row = {"n_tokens": 9, "n_prompt_tokens": 17, "status": "ok", **window}
        add(con, "request", run, request=0, start_ns=us(start), dur_ns=us(10_000), **row)
    add(con, "gpu_sample", run, gpu=0, power_w=412.5, throttle_mask=4, **window)


def stalled(con, run):
    """One decode step of 474 ms: a stray kernel, 464 ms in which nothing is queued, the work."""
    add(con, "run", run, engine="sglang", world_size=1)
    add(con, "file", run, file_id=0, rank=0, window_start_ns=us(50_000), window_end_ns=us(600_000))
    times = {"dur_ns": us(474_000), "busy_ns": us(9_900), "idle_ns": us(464_100)}
    add(
        con,
        "step",
        run,
        rank=0,
        step=0,
        kind="decode",
        start_ns=us(100_000),
        starved_ns=us(464_050),
        launch_delay_ns=us(50),
        **times,
    )
    kernel = {"rank": 0, "category": "gemm", "step": 0}
    add(
        con,
        "activity",
        run,
        activity_id=0,
        name="stray",
        start_ns=us(100_000),
        dur_ns=us(100),
        launch_ns=us(99_990),
        **kernel,
    )
    add(
        con,
        "activity",
        run,
        activity_id=1,
        name="work",
        start_ns=us(564_100),
        dur_ns=us(9_800),
        launch_ns=us(564_050),
        **kernel,
    )
    row = {"rank": 0, "step": 0, "phase": "forward", "n": 2, "sum_ns": us(9_900)}
    add(con, "nccl_comm", run, rank=0, n_ranks=2, n_nodes=1)
    add(con, "nccl_note", run, kind="warning", name="net.cc:7", value="Cuda failure 999 'unknown'")
    add(con, "step_phase", run, busy_ns=us(9_900), **row)
    add(con, "step_category", run, category="gemm", busy_ns=us(9_900), exposed_ns=us(9_900), **row)


def drafting(con, run):
    """The run eagle3, of the model and on the machine of the baseline."""
    eagle3(con, run)
    of_the_baseline = {"gpu": "H200", "world_size": 2, "tensor_parallel": 2}
    of_the_baseline |= {"model": "tiny-moe", "engine_version": "0.32.0", "is_synthetic": True}
    marks = ", ".join(f"{column} = ?" for column in of_the_baseline)
    con.execute(f"UPDATE run SET {marks} WHERE run = ?", [*of_the_baseline.values(), run])
