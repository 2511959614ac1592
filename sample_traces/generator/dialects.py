"""The dialects: which engine, version and set-up each run folder shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generator.batch import Batch
from generator.folder import Run
from generator.machine import Machine
from generator.model import Model
from generator.rank import BASE_NS, Rank
from generator.v1 import V1Options, V1Runner
from generator.v2 import V2Options, V2Runner


@dataclass(frozen=True, slots=True)
class Size:
    """How much to generate; None is the dialect's own choice."""

    ranks: int | None = None
    steps: int | None = None
    seed: int = 1


def machine(name: str, ranks: int, size: Size, **options: str) -> Machine:
    """Ranks of one engine on one host; the files of odd ranks have another base time."""
    return Machine([_rank(name, 0, r, r, size.seed) for r in range(size.ranks or ranks)], **options)


def _rank(name: str, dp: int, rank: int, device: int, seed: int) -> Rank:
    base = BASE_NS - (device % 2) * 3_600_000_000_000
    made = Rank(dp, rank, device, base, f"{seed}/{name}/{device}")
    # one card is a little slower than the others, as in real boxes: it arrives last
    made.bias = 1.12 if device == 5 else 1.0 + 0.01 * (device % 3)
    return made


STORY = Model(layers=63, all_reduce="ar_custom_8", transfer_us=34.2)


def story_baseline(size: Size) -> Run:
    """Baseline decode of one request at tensor parallel 8, V1 runner with scopes."""
    options = V1Options(scopes="new", model=STORY)
    return _v1("story_baseline", size, options, lambda n: Batch(), ranks=8, steps=14)


def story_eagle3(size: Size) -> Run:
    """The same with EAGLE-3 drafts of three tokens."""
    options = V1Options(scopes="new", model=STORY, method="eagle")
    return _v1("story_eagle3", size, options, lambda n: Batch(drafts=3), ranks=8, steps=15)


def v1_no_scopes_eagle(size: Size) -> Run:
    """V1 without scopes, piecewise drafts: a prefill, then EAGLE-3 with eagle_prepare kernels."""
    options = V1Options(method="eagle", graphs="piecewise")
    return _v1("v1_no_scopes_eagle", size, options, _prefill_first)


def v2_eagle3(size: Size) -> Run:
    """V2, full graphs: a prefill, then EAGLE-3."""
    return _v2("v2_eagle3", size, V2Options(num_tokens=3), _prefill_first)


def _prefill_first(number: int) -> Batch:
    if number == 0:
        return Batch(decode_reqs=0, prefill_reqs=2, prefill_tokens=384)
    return Batch(decode_reqs=2, drafts=6)


def _v1(
    name: str,
    size: Size,
    options: V1Options,
    batches: Callable[[int], Batch],
    *,
    ranks: int = 2,
    steps: int = 5,
) -> Run:
    m = machine(name, ranks, size)
    runner = V1Runner(m, options)
    _profile(m, runner, batches, size.steps or steps)
    run = Run(name, m.ranks, tensor_parallel=len(m.ranks), has_empty_steps=options.form != "none")
    if options.method != "none":
        method = {"eagle": "eagle3"}.get(options.method, options.method)
        run.method, run.num_tokens = method, options.num_tokens
        run.acceptance = runner.acceptance
    return run


def _v2(
    name: str,
    size: Size,
    options: V2Options,
    batches: Callable[[int], Batch],
    *,
    steps: int = 5,
) -> Run:
    m = machine(name, 2, size)
    runner = V2Runner(m, options)
    _profile(m, runner, batches, size.steps or steps)
    run = Run(name, m.ranks, tensor_parallel=len(m.ranks), has_empty_steps=options.form != "none")
    if options.num_tokens:
        run.method, run.num_tokens = "eagle3", options.num_tokens
        run.acceptance = runner.acceptance
    return run


def _profile(
    m: Machine, runner: V1Runner | V2Runner, batches: Callable[[int], Batch], steps: int
) -> None:
    """Run a step before the profiler starts, then `steps` under it."""
    runner.step(-1, batches(-1))
    open_window(m)
    for number in range(steps):
        runner.step(number, batches(number))
    close_window(m)


def open_window(m: Machine) -> None:
    """Start profiling while the device still works on what was launched before."""
    for rank in m.ranks:
        first = rank.rows[0].start_ns
        end = max(rank.free.values())
        rank.window_start = end - (end - first) // 6 if end > rank.now else rank.now
        kept = [i for i, r in enumerate(rank.rows) if r.start_ns >= rank.window_start]
        rank.rows = [rank.rows[i] for i in kept]
        rank.device_events = [rank.device_events[i] for i in kept]
        rank.now = max(rank.now, rank.window_start) + 150_000
        rank.is_recording = True


def close_window(m: Machine) -> None:
    """Stop profiling after the device has finished."""
    for rank in m.ranks:
        rank.window_end = max(rank.now, *rank.free.values()) + 900_000


DIALECTS: dict[str, Callable[[Size], Run]] = {
    function.__name__: function
    for function in (story_baseline, story_eagle3, v1_no_scopes_eagle, v2_eagle3)
}
