"""The options of `tracekit bench allreduce`."""

import sys

import click

from tracekit.cli import options
from tracekit.cli.capture_options import NOT_NEGATIVE, POSITIVE, SECONDS, finite, folder_name
from tracekit.cli.options import Command
from tracekit.collectors.bench.sizes import DTYPES

SIZES = "1KiB-64MiB"
MICROSECONDS = click.IntRange(1, 1_000_000)


def _name(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return None if value is None else folder_name(ctx, parameter, value)


def _sizes(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Bytes of `1KiB-64MiB`."""
    from tracekit.collectors.bench.sizes import sizes_of

    try:
        return None if value is None else sizes_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _burst(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[tuple[int, int], ...]:
    """Calls and bytes of `2x56KiB,125x14KiB`."""
    from tracekit.collectors.bench.sizes import burst_of

    try:
        return () if value is None else burst_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


_OPTIONS = (
    click.option(
        "--run", metavar="NAME", callback=_name, help="Name [default: bench-allreduce-BACKEND-N]."
    ),
    click.option(
        "--ranks",
        type=POSITIVE,
        metavar="N",
        help="Ranks [default: of --like; else one per GPU, 2 without].",
    ),
    click.option(
        "--backend",
        type=click.Choice(["gloo", "nccl"]),
        help="Backend [default: nccl where there are GPUs, else gloo].",
    ),
    click.option(
        "--python",
        metavar="PYTHON",
        default=sys.executable,
        show_default="this one",
        help="A Python that has torch.",
    ),
    click.option(
        "--sizes",
        metavar="SIZES",
        callback=_sizes,
        help=f"As 14KiB,1MiB or 1KiB-1MiB [default: {SIZES}, none with a burst].",
    ),
    click.option(
        "--dtype",
        type=click.Choice(tuple(DTYPES)),
        help=f"Elements [default: of --like, else {next(iter(DTYPES))}].",
    ),
    click.option(
        "--burst",
        metavar="CALLS",
        callback=_burst,
        help="Calls back to back, such as 2x56KiB,125x14KiB.",
    ),
    click.option("--like", metavar="RUN", help="A burst as a step of this run has it."),
    click.option("--step", type=NOT_NEGATIVE, metavar="N", help="Of --like: this step."),
    click.option(
        "--delay-rank", type=NOT_NEGATIVE, metavar="N", help="Delay this rank in the burst,"
    ),
    click.option(
        "--delay-us",
        type=MICROSECONDS,
        metavar="US",
        help="by microseconds before each of its calls.",
    ),
    click.option(
        "--iterations",
        type=POSITIVE,
        default=50,
        show_default=True,
        metavar="N",
        help="Of each size and burst; fewer where they take over 2 s.",
    ),
    click.option(
        "--warmups", type=POSITIVE, default=5, show_default=True, metavar="N", help="Before them."
    ),
    click.option(
        "--steps",
        type=POSITIVE,
        default=5,
        show_default=True,
        metavar="N",
        help="Bursts, or rounds of all sizes, in the trace.",
    ),
    click.option("--no-graph", is_flag=True, help="No CUDA graphs."),
    click.option(
        "--timeout",
        type=SECONDS,
        callback=finite,
        default=600.0,
        show_default=True,
        metavar="S",
        help="Seconds after which it is ended.",
    ),
    options.out(),
    click.option("--replace", is_flag=True, help="Replace a run of the same name, and its folder."),
    options.db(),
    options.output_format(),
)


def add_options(command: Command) -> Command:
    """The command with its options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
