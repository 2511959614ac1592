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
