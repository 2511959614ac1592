"""Writes the truth beside a generated run: integers and names, an empty cell is NULL."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from generator.batch import Acceptance
from generator.collectives import Collective, Part, collectives
from generator.nccl_tuning import choice
from generator.rank import Rank
from generator.run import Run
from generator.truth import Figures, decode_mean, figures, is_complete

Cell = int | str | bool | None


def write_truth(run: Run, folder: Path) -> None:
    """Write the truth about a run as CSV files."""
    truths = [(rank, figures(rank)) for rank in run.ranks]
    _csv(folder / "activities.csv", ACTIVITY_COLUMNS, _activities(run.ranks))
    _csv(folder / "steps.csv", STEP_COLUMNS, _steps(run, truths))
    _csv(folder / "step_phases.csv", PHASE_COLUMNS, _phases(truths))
    _csv(folder / "step_breakdown.csv", BREAKDOWN_COLUMNS, _breakdown(truths))
    calls = collectives(run.ranks)
    if calls:
        _csv(folder / "collectives.csv", COLLECTIVE_COLUMNS, _collectives(run, calls))
        _csv(folder / "clocks.csv", "dp rank offset_ns", _clocks(run.ranks))
    if run.stragglers:
        _csv(folder / "stragglers.csv", "step rank side", run.stragglers)
    if run.acceptance and run.engine == "vllm":
        _csv(folder / "spec.csv", SPEC_COLUMNS, _spec(run.acceptance))
    decode = decode_mean(truths)
    if decode:
        _csv(folder / "decode.csv", DECODE_COLUMNS, [decode])


ACTIVITY_COLUMNS = (
    "dp rank stream start_ns dur_ns name correlation category impl step phase phase_source link"
)
STEP_COLUMNS = (
    "dp rank step kind is_verify n_draft_tokens n_prefill_reqs n_prefill_tokens n_decode_reqs "
    "n_decode_tokens start_ns dur_ns busy_ns idle_ns wait_for_work_ns is_complete"
)
PHASE_COLUMNS = "dp rank step phase n sum_ns busy_ns"
BREAKDOWN_COLUMNS = "dp rank step phase category n sum_ns busy_ns exposed_ns overhang_ns"
COLLECTIVE_COLUMNS = (
    "dp collective comm seq rank step phase name category impl is_fused group_size bytes "
    "bytes_source start_ns dur_ns wait_ns transfer_ns is_last match algorithm protocol channels "
    "model_ns"
)
DECODE_COLUMNS = "n_steps step_ns idle_ns pass_ns draft_ns sample_ns"
SPEC_COLUMNS = "position drafts draft_tokens accepted"


def _csv(path: Path, columns: str, rows: Iterable[Sequence[Cell]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns.split())
        for row in rows:
            writer.writerow([int(cell) if isinstance(cell, bool) else cell for cell in row])


def _activities(ranks: list[Rank]) -> Iterable[Sequence[Cell]]:
    for rank in ranks:
        for row in rank.rows:
            yield (
                rank.dp, rank.rank, row.stream, rank.epoch(row.start_ns), row.dur_ns,
                row.name, row.correlation, row.category, row.impl, row.step, row.phase,
                row.phase_source, row.link,
            )  # fmt: skip


def _steps(run: Run, truths: list[tuple[Rank, Figures]]) -> Iterable[Sequence[Cell]]:
    for rank, truth in truths:
        for number, s in rank.steps.items():
            window = truth.windows.get(number)
            device: tuple[Cell, ...] = (None,) * 5
            if window:
                dur = window.end_ns - window.start_ns
                idle = dur - window.busy_ns - window.wait_ns
                wait = window.wait_ns if run.has_empty_steps else None
                device = (rank.epoch(window.start_ns), dur, window.busy_ns, idle, wait)
            yield (
                rank.dp, rank.rank, number, s.kind, s.is_verify, s.n_draft_tokens,
                s.n_prefill_reqs, s.n_prefill_tokens, s.n_decode_reqs, s.n_decode_tokens,
                *device, is_complete(rank, number, s),
            )  # fmt: skip


def _phases(truths: list[tuple[Rank, Figures]]) -> Iterable[Sequence[Cell]]:
    for rank, truth in truths:
        for (step, phase), t in sorted(truth.phases.items()):
            yield rank.dp, rank.rank, step, phase, t.n, t.sum_ns, t.busy_ns


def _breakdown(truths: list[tuple[Rank, Figures]]) -> Iterable[Sequence[Cell]]:
    for rank, truth in truths:
        for key, t in sorted(truth.breakdown.items()):
            yield rank.dp, rank.rank, *key, t.n, t.sum_ns, t.busy_ns, t.exposed_ns, t.overhang_ns


def _collectives(run: Run, calls: list[Collective]) -> Iterable[Sequence[Cell]]:
    for number, call in enumerate(calls):
        for part in call.parts:
            yield _collective(run, number, call, part)


def _collective(run: Run, number: int, call: Collective, part: Part) -> Sequence[Cell]:
    rank, row, item = part.rank, part.rows[0], part.rows[0].item
    source = run.bytes_source(row)
    wait = call.last_start_ns - part.true_start_ns
    over_ranks: Sequence[Cell] = (None, None, None)
    if call.is_matched:
        over_ranks = (wait, call.transfer_ns, wait == 0)
    algorithm = protocol = model_ns = None
    if source == "nccl_log":
        algorithm, protocol, _, model_ns = choice(row.category, item.bytes)
    return (
        rank.dp, number, item.comm, item.seq, rank.rank, row.step, row.phase, row.name,
        row.category, row.impl, any(row.item.kernel.is_fused for row in part.rows),
        call.n_ranks if call.is_matched or "Group size" in item.args else None,
        item.bytes if source else None, source, rank.epoch(part.start_ns), part.dur_ns,
        *over_ranks, call.match, algorithm, protocol, item.channels, model_ns,
    )  # fmt: skip


def _clocks(ranks: list[Rank]) -> Iterable[Sequence[Cell]]:
    clocks = [rank.clock_ns + rank.gpu_clock_ns for rank in ranks]
    mean = sum(clocks) // len(clocks)
    for rank, clock in zip(ranks, clocks, strict=True):
        yield rank.dp, rank.rank, mean - clock


def _spec(a: Acceptance) -> Iterable[Sequence[Cell]]:
    yield None, a.drafts, a.draft_tokens, sum(a.accepted)
    for position, accepted in enumerate(a.accepted):
        yield position, a.drafts, None, accepted
