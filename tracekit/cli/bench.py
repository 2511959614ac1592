"""tracekit bench: how fast this machine's collectives can be."""

import os
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit.cli import bench_options, bench_page
from tracekit.cli.capture import refuse_taken
from tracekit.cli.stages import Stages
from tracekit.errors import TracekitError

if TYPE_CHECKING:
    from tracekit.collectors.bench.plan import Place, Plan
    from tracekit.collectors.run_folder import RunFolder


@click.group("bench")
def command() -> None:
    """Measure how fast this machine can be."""


@command.command("allreduce")
@bench_options.add_options
def allreduce(**given: object) -> None:
    """Time all-reduces of torch.distributed by size, and as a step has them.

    Starts its ranks on this host; under torchrun each process is one of them.
    """
    from tracekit.collectors.bench.allreduce import join, measure
    from tracekit.collectors.bench.plan import place_of
    from tracekit.collectors.process.signals import Signals

    asked = SimpleNamespace(**given)
    _refuse_usage(asked)
    place = place_of(os.environ)
    plan = _plan(asked, place)
    plan.refuse_impossible(place)
    if place and place.rank:
        join(plan, os.environ)
    if not plan.replaces:
        plan.folder.refuse_taken()
        refuse_taken(asked.db, [plan.folder.name])
    signals = Signals("bench")
    with closing(Stages()) as stages, signals.handled():
        found = measure(plan, place, os.environ, stages, signals)
        _ingest(plan.folder, asked, stages)
    bench_page.show(plan, found, plan.shared_cores(place), asked.db, asked.form)


def _refuse_usage(asked: SimpleNamespace) -> None:
    if asked.burst and asked.like is not None:
        raise click.UsageError("--burst and --like: both say which calls to make. Give one.")
    if asked.step is not None and asked.like is None:
        raise click.UsageError("--step does nothing without --like.")
    if (asked.delay_rank is None) != (asked.delay_us is None):
        raise click.UsageError("--delay-rank and --delay-us: give both, or neither.")
    if asked.delay_rank is not None and not asked.burst and asked.like is None:
        raise click.UsageError("--delay-rank delays the calls of a burst: give --burst or --like.")


def _plan(asked: SimpleNamespace, place: "Place | None") -> "Plan":
    from tracekit.collectors.bench.plan import Delay, Plan, torch_of
    from tracekit.collectors.bench.sizes import DTYPES, sizes_of
    from tracekit.collectors.run_folder import RunFolder

    like = _recorded(asked)
    torch = torch_of(asked.python, os.environ)
    backend = asked.backend or torch.backend
    n_ranks = _n_ranks(asked, place, like, torch.n_gpus if backend == "nccl" else 2)
    if asked.no_graph and backend != "nccl":
        raise click.UsageError(f"--no-graph does nothing with {backend}. Leave it out.")
    burst = asked.burst or like.burst
    name = asked.run or f"bench-allreduce-{backend}-{n_ranks}"
    return Plan(
        folder=RunFolder(asked.out.absolute() / name),
        torch=torch,
        backend=backend,
        n_ranks=n_ranks,
        dtype=asked.dtype or like.dtype or next(iter(DTYPES)),
        sizes=asked.sizes or (() if burst else sizes_of(bench_options.SIZES)),
        burst=burst,
        like=like.source,
        warmups=asked.warmups,
        repetitions=asked.iterations,
        n_recorded=asked.steps,
        has_graph=backend == "nccl" and not asked.no_graph,
        delay=asked.delay_us and Delay(asked.delay_rank, asked.delay_us * 1000),
        timeout_s=asked.timeout,
        replaces=asked.replace,
    )


def _n_ranks(
    asked: SimpleNamespace, place: "Place | None", like: SimpleNamespace, default: int
) -> int:
    if place is None:
        return int(asked.ranks or like.n_ranks or default)
    if asked.ranks not in (None, place.n_ranks):
        raise click.UsageError(f"--ranks {asked.ranks}: {place.n_ranks} run already (WORLD_SIZE).")
    return place.n_ranks


def _recorded(asked: SimpleNamespace) -> SimpleNamespace:
    """The burst of a recorded step, its element type and ranks; all empty without --like."""
    from tracekit.collectors.bench.sizes import DTYPES, sequence_of
    from tracekit.database import reading
    from tracekit.errors import QueryError

    if asked.like is None:
        return SimpleNamespace(burst=(), dtype=None, n_ranks=None, source=None)
    with reading(asked.db) as database:
        run = database.run_name(asked.like)
        calls = database.report("bench_sequence", run=run, step=asked.step).records()
    if not calls:
        which = "complete step" if asked.step is None else f"complete step {asked.step}"
        raise QueryError(
            f"{run}: no {which} whose all-reduces tell their bytes; give them with --burst"
        )
    try:
        burst = sequence_of(call.bytes for call in calls)
    except ValueError as error:
        raise QueryError(f"{run}: step {calls[0].step} has {error}; take another --step") from error
    dtype = str(calls[0].dtype).lower()
    return SimpleNamespace(
        burst=burst,
        dtype=dtype if dtype in DTYPES else None,
        n_ranks=calls[0].group_size,
        source={"run": run, "step": calls[0].step},
    )


def _ingest(folder: "RunFolder", asked: SimpleNamespace, stages: Stages) -> None:
    from tracekit import api

    stages.stage(f"{folder.name}: reading what was measured")
    try:
        api.ingest(folder.path, run=folder.name, db=asked.db, replace=asked.replace)
    except (TracekitError, KeyboardInterrupt):
        stages.note(f"measured, not in the database yet: tracekit ingest {folder.path}")
        raise
