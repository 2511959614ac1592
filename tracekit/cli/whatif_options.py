"""The options of `tracekit whatif`."""

from collections.abc import Callable
from types import SimpleNamespace

import click

from tracekit.cli import capture_options
from tracekit.cli.options import Command, Decorator

MOST_DRAFTED = 64
MOST_REQUESTS = 65_536


def _whole(most: int) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Callback that reads `1..8` or `1,4,16` of numbers from 1 to `most`."""

    def read(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            numbers = [n for part in value.split(",") for n in _span(part)]
        except ValueError:
            numbers = [0]
        if not all(1 <= n <= most for n in numbers):
            raise click.BadParameter(f"{value!r}: write whole numbers up to {most}: 1..8 or 1,4")
        return ",".join(map(str, sorted(set(numbers))))

    return read


def _span(text: str) -> range:
    low, _, high = text.partition("..")
    first, last = int(low), int(high or low)
    if not 0 < first <= last <= MOST_REQUESTS:
        raise ValueError(text)
    return range(first, last + 1)


def _acceptance(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Rates of `0.87,0.68`: from 0 to 1, none above the one before."""
    if value is None:
        return None
    try:
        rates = [float(part) for part in value.split(",")]
    except ValueError:
        rates = [-1.0]
    if not all(0 <= rate <= 1 for rate in rates):
        raise click.BadParameter(f"{value!r}: write one rate from 0 to 1, or one for each position")
    if rates != sorted(rates, reverse=True):
        raise click.BadParameter(
            f"{value!r}: of drafts, no later position is accepted more often than one before it"
        )
    return ",".join(map(repr, rates))


def _experts(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """Numbers of `384,8`: all and active ones."""
    if value is None:
        return None
    try:
        total, active = map(int, value.split(","))
    except ValueError:
        total, active = 0, 0
    if not 1 <= active <= total <= MOST_REQUESTS:
        raise click.BadParameter(f"{value!r}: write all and active experts of a layer: 384,8")
    return total, active


def _finite(ctx: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    return None if value is None else capture_options.finite(ctx, parameter, value)


def _number(name: str, text: str, low: float = 0, high: float = 1e9) -> Decorator:
    kind = click.FloatRange(low, high)
    return click.option(name, type=kind, callback=_finite, metavar="X", help=text)


_OPTIONS = (
    click.option("--calibrate", metavar="RUN", help="Second run: with drafts where RUN has none."),
    click.option(
        "--k",
        "ks",
        metavar="1..8",
        default="1..8",
        show_default=True,
        callback=_whole(MOST_DRAFTED),
        help="Drafted tokens of a request and step.",
    ),
    click.option(
        "--concurrency",
        metavar="1,4",
        callback=_whole(MOST_REQUESTS),
        help="Requests in a step, beside the run's own [default: 1,4,16,64].",
    ),
    click.option(
        "--acceptance",
        metavar="RATES",
        callback=_acceptance,
        help="Accepted of drafts by position, or one rate given the position before.",
    ),
    _number("--tokens-per-step", "Tokens a stream gets of a step.", 1, MOST_DRAFTED + 1),
    _number("--baseline-ms", "Time of a step without drafts; without RUN all is given.", 1e-6),
    _number("--verify-ms", "Time of the pass that verifies.", 1e-6),
    _number("--draft-ms-per-step", "Time of all drafting in a step, whatever K."),
    _number("--draft-fraction", "Time of a draft pass / of the target's pass without drafts."),
    click.option(
        "--draft-tp",
        type=click.IntRange(1, 4096),
        metavar="N",
        help="GPUs of the draft: with 1 it has no all-reduces.",
    ),
    _number("--all-reduces-per-draft", "All-reduces that each drafted token costs."),
    click.option("--experts", metavar="384,8", callback=_experts, help="All and active experts."),
    click.option("--curve", metavar="RUN", help="Measured curve of all-reduces."),
    click.option("--anyway", is_flag=True, help="Calibrate by a run of another model or machine."),
    click.option("--inputs", "is_inputs", is_flag=True, help="With csv or json: the inputs."),
)


def check(asked: SimpleNamespace) -> None:
    """Refuse options that contradict each other.

    Raises:
        UsageError: two of them tell the same in different ways, or one takes the other back.
    """
    for one, other in _EITHER:
        if getattr(asked, one) is not None and getattr(asked, other) is not None:
            raise click.UsageError(f"{_written(one)} and {_written(other)}: give one of them.")
    if asked.draft_tp == 1 and asked.draft_ms_per_step is not None:
        raise click.UsageError(
            "--draft-tp 1 and --draft-ms-per-step: the time that is given is of all drafting."
        )
    if asked.draft_tp == 1 and asked.all_reduces_per_draft:
        raise click.UsageError("--draft-tp 1 and --all-reduces-per-draft: one GPU has none.")


_EITHER = (("draft_ms_per_step", "draft_fraction"), ("tokens_per_step", "acceptance"))


def _written(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def add_options(command: Command) -> Command:
    """The command with its options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
