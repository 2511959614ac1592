"""tracekit capture: profile a serving run, from its start to its breakdown."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tracekit.cli import capture_options, capture_page, options
from tracekit.cli.stages import Stages
from tracekit.errors import TracekitError

if TYPE_CHECKING:
    from tracekit.collectors.capture import Capture, Run
    from tracekit.collectors.load.protocol import Load
    from tracekit.collectors.options import ProfileOptions
    from tracekit.collectors.run_folder import RunFolder
    from tracekit.collectors.trace_files import TraceDir


@click.command("capture", context_settings={"allow_interspersed_args": False})
@capture_options.add_options
@options.db()
@click.argument("command", metavar="[--] [COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, /, **given: object) -> None:
    """Profile a serving run: start, load, profile, stop, ingest, breakdown.

    COMMAND starts the server, as you would write it without tracekit. With --url it is a server
    that runs already and was started for profiling.
    """
    from tracekit.collectors.capture import Capture, Plan
    from tracekit.collectors.options import Patience
    from tracekit.collectors.process.signals import Signals

    asked = SimpleNamespace(**given)
    _refuse_usage(asked)
    _refuse_ignored(ctx, asked)
    runs = _runs(asked)
    if not asked.replace:
        refuse_taken(asked.db, [run.folder.name for run in runs])
    load = _load(asked)
    plan = Plan(
        runs=runs,
        profile=_profile(asked, load),
        load=load,
        n_warmups=asked.warmups,
        n_unprofiled=asked.windows,
        patience=Patience(asked.start_timeout, asked.stop_timeout),
        replaces=asked.replace,
    )
    signals = Signals()
    with closing(Stages()) as stages, signals.handled():
        with _recorded_told(runs, stages):
            _record(Capture(plan, stages, signals), asked)
        _ingest(runs, asked, stages)
    capture_page.show(ctx, [run.folder.name for run in runs], asked.db)


def _refuse_usage(asked: SimpleNamespace) -> None:
    if not asked.command and not asked.url:
        raise click.UsageError("Missing the command to start, after --; or --url of a server.")
    if asked.url and not asked.command and not asked.trace_dir:
        raise click.UsageError("--url needs --trace-dir: the folder where its traces appear.")


_OF_LOAD = ("prompts", "input_len", "output_len", "requests", "api", "seed")
_OF_ATTACHED = ("trace_dir", "api_key")
_OF_SERVER = (
    "url",
    "concurrency",
    "load",
    "warmups",
    "windows",
    "start_timeout",
    "stop_timeout",
    "no_scopes",
)


def _refuse_ignored(ctx: click.Context, asked: SimpleNamespace) -> None:
    """An option that others make void is a mistake, which its user has to know of."""
    given = {
        parameter.name: parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name
        and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    }
    for is_on, void, why in (
        (bool(asked.command), _OF_ATTACHED, "where a COMMAND is given: it is for --url alone"),
        (not asked.command, ("start_timeout",), "for a server that runs already"),
        (asked.load is not None, _OF_LOAD, "with --load: the command decides that"),
        (asked.prompts is not None, ("input_len", "seed"), "with --prompts: the file decides that"),
        (asked.engine == "torch", (*_OF_SERVER, *_OF_LOAD), "for a script: it serves nothing"),
    ):
        for name in void:
            if is_on and name in given:
                raise click.UsageError(f"{given[name]} does nothing {why}. Leave it out.")


def _runs(asked: SimpleNamespace) -> "tuple[Run, ...]":
    from tracekit.collectors.capture import Run
    from tracekit.collectors.run_folder import RunFolder

    out, is_one = asked.out.absolute(), len(asked.concurrency) == 1
    return tuple(
        Run(number, RunFolder(out / (asked.run if is_one else f"{asked.run}-c{number}")))
        for number in asked.concurrency
    )


def refuse_taken(db: str | None, names: Sequence[str]) -> None:
    """Before anything is started: the database can be used, and has no run of these names."""
    from tracekit.database import Database, default_database
    from tracekit.errors import StoreError
    from tracekit.place import InUse, is_database, resolve

    path = default_database(db)
    if not is_database(resolve(path)):
        return
    try:
        taken = set(Database(path).runs())
    except InUse:  # an ingest can wait for that, or goes round it
        return
    for name in names:
        if name in taken:
            raise StoreError(
                f"{path}: run {name!r} is already there; choose another --run, or --replace it"
            )


def _profile(asked: SimpleNamespace, load: "Load") -> "ProfileOptions":
    from tracekit.collectors.load.protocol import max_steps
    from tracekit.collectors.options import ProfileOptions

    return ProfileOptions(
        steps=asked.steps,
        delay_steps=asked.delay,
        max_steps=max_steps(load, asked.steps, asked.concurrency),
        shapes=asked.shapes,
        stacks=asked.stacks,
        memory=asked.allocations,
        scopes=not asked.no_scopes,
        nccl_log=asked.nccl_log,
    )


def _load(asked: SimpleNamespace) -> "Load":
    from tracekit.collectors.load.command import load_command
    from tracekit.collectors.load.openai import OpenAILoad
    from tracekit.collectors.load.prompts import SyntheticPrompts, read_prompts

    if asked.load is not None:
        return load_command(asked.load)
    prompts = (
        SyntheticPrompts(asked.input_len, asked.seed, asked.api)
        if asked.prompts is None
        else read_prompts(Path(asked.prompts), asked.api)
    )
    return OpenAILoad(prompts, asked.output_len or asked.steps, asked.requests)


def _record(capture: "Capture", asked: SimpleNamespace) -> None:
    from tracekit.collectors.attach import capture_server
    from tracekit.collectors.start import capture_command

    if asked.command:
        capture_command(capture, asked.command, os.environ, asked.engine, asked.url)
    else:
        traces = _trace_dir(asked.trace_dir)
        capture_server(capture, asked.url, traces, asked.api_key, asked.engine)


@contextmanager
def _recorded_told(runs: "tuple[Run, ...]", stages: Stages) -> Iterator[None]:
    """Where a capture fails: which runs have traces all the same."""
    try:
        yield
    except (TracekitError, KeyboardInterrupt):
        for folder in (run.folder for run in runs):
            if folder.traces.is_dir() and any(folder.traces.iterdir()):
                stages.note(f"traces so far can be read: tracekit ingest {folder.path}")
        raise


def _trace_dir(text: str) -> "TraceDir":
    from tracekit.collectors.trace_files import TraceDir
    from tracekit.errors import CaptureError

    host, _, inside = (text, "", "") if Path(text).is_dir() else text.partition("=")
    path = Path(host).absolute()
    if not path.is_dir():
        raise CaptureError(f"--trace-dir {host}: no such folder; name the one the server writes to")
    return TraceDir(path, inside or str(path), is_ours=False)


def _ingest(runs: "tuple[Run, ...]", asked: SimpleNamespace, stages: Stages) -> None:
    from tracekit import api

    for folder in (run.folder for run in runs):
        stages.stage(f"{folder.name}: reading the traces")
        try:
            (summary,) = api.ingest(
                folder.path, run=folder.name, db=asked.db, replace=asked.replace
            )
        except (TracekitError, KeyboardInterrupt):
            stages.note(f"recorded, not in the database yet: tracekit ingest {folder.path}")
            raise
        if summary.n_lost:
            stages.note(f"{folder.name}: {summary.n_lost:,} events lost; see view ingest_ledger")
        _refuse_missing_ranks(folder, asked.db)


def _refuse_missing_ranks(folder: "RunFolder", db: str | None) -> None:
    """Where the command did not tell how many ranks there are, the traces do."""
    from tracekit.database import reading
    from tracekit.errors import CaptureError

    with reading(db) as database:
        (run,) = database.report("run_list", run=folder.name).records()
    if run.world_size and run.n_ranks < run.world_size:
        raise CaptureError(
            f"{folder.traces}: {run.n_ranks} of {run.world_size} ranks wrote a trace there; "
            "those that did are in the database, look into the server's log for the others"
        )
