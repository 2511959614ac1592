"""Pairs of runs by hand for comparisons: steps of given times, one rank each."""

from database import add, us


def add_run(con, name, times, tokens=1, n_reqs=1, **row):
    """A run whose decode steps take `times` us; each gives a request `tokens` (a list: in turn).

    With `tokens` None the trace tells none, and each step checks two drafts.
    """
    facts = {
        "engine": "vllm",
        "model": "tiny-moe",
        "gpu": "H200",
        "tensor_parallel": 1,
        "world_size": 1,
    }
    add(con, "run", name, **{**facts, **row})
    add(con, "file", name, file_id=0, rank=0, metadata="{}")
    each = tokens if isinstance(tokens, list) else [tokens] * len(times)
    for step, (time, emitted) in enumerate(zip(times, each, strict=True)):
        add(
            con,
            "step",
            name,
            rank=0,
            step=step,
            kind="decode",
            start_ns=us(100_000 * step),
            dur_ns=us(time),
            busy_ns=us(time - 100),
            idle_ns=us(100),
            wait_for_work_ns=0,
            n_prefill_reqs=0,
            n_decode_reqs=n_reqs,
            is_verify=tokens is None,
            n_draft_tokens=2 * n_reqs if tokens is None else None,
            n_emitted_tokens=None if emitted is None else emitted * n_reqs if n_reqs else emitted,
        )


def add_work(con, name, step, phase, **categories):
    """Busy time (us) of categories in a phase of a step, one after the other."""
    times = {"rank": 0, "step": step, "phase": phase, "n": 1}
    total = us(sum(categories.values()))
    add(con, "step_phase", name, sum_ns=total, busy_ns=total, **times)
    for category, time in categories.items():
        work = {"sum_ns": us(time), "busy_ns": us(time), "exposed_ns": us(time)}
        add(con, "step_category", name, category=category, **work, **times)


def count_tokens(con, run, window, step_ns, tokens, drafts=0):
    """Counters of one request that decodes in 80 steps of that time and so many tokens."""
    drafted = {
        "spec_decode_num_drafts_total": drafts,
        "spec_decode_num_accepted_tokens_total": 80 * tokens - 80,
    }
    seconds, generated = 80 * step_ns / 1e9, 80 * tokens + 1
    times = {"request_decode_time_seconds_sum": seconds, "generation_tokens_total": generated}
    counted = {**times, "iteration_tokens_total_count": 81, **(drafted if drafts else {})}
    _count(con, run, window, **counted)


def _count(con, run, window, **counters):
    given = counters | {"request_decode_time_seconds_count": 1}
    for name, value in given.items():
        for moment, at in (("before", 0), ("after", value)):
            row = {"name": f"vllm:{name}", "moment": moment, "value": at}
            add(con, "counter", run, window_name=window, **row)


def add_windows(con, run, step_ns, tokens, drafts=0):
    """Windows of a capture; counters tell of the one without the profiler."""
    add(con, "capture_window", run, window_name="unprofiled", is_profiled=False, start_ns=0)
    add(con, "capture_window", run, window_name="profiled", is_profiled=True, start_ns=1)
    count_tokens(con, run, "unprofiled", step_ns, tokens, drafts)
