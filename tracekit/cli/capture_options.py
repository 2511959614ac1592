"""The options of `tracekit capture`."""

import math
import os
import re
from urllib.parse import urlsplit

import click

from tracekit.cli import options
from tracekit.cli.options import Command

POSITIVE = click.IntRange(min=1)
NOT_NEGATIVE = click.IntRange(min=0)
SECONDS = click.FloatRange(min=0, min_open=True)
NAME = re.compile(r"\w[\w.,+@=-]*")
NAME_BYTES = 200
"""File systems take 255 in a name; -c16 is added to a run's."""


def folder_name(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    """One that a folder can have."""
    if not NAME.fullmatch(value):
        raise click.BadParameter(
            f"{value!r}: begin with a letter, digit or _, go on with these and . , + @ = -"
        )
    if len(os.fsencode(value)) > NAME_BYTES:
        raise click.BadParameter(f"{value[:20]!r}...: take {NAME_BYTES} bytes at most")
    return value


def _url(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The root of a server."""
    if value is None:
        return None
    try:
        url = urlsplit(value)
        is_usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not value.isprintable() or " " in value:
        raise click.BadParameter("write http://HOST:PORT")
    return value.rstrip("/")


def _numbers(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Of `1,4,16`."""
    words = value.split(",")
    numbers = tuple(int(word) for word in words if word.strip().isdecimal())
    if len(numbers) < len(words) or 0 in numbers or len(set(numbers)) < len(numbers):
        raise click.BadParameter(f"{value!r}: write numbers, such as 1,4,16")
    return numbers


def finite(ctx: click.Context, parameter: click.Parameter, value: float) -> float:
    """A range lets nan and inf through."""
    if not math.isfinite(value):
        raise click.BadParameter(f"{value}: write a finite number")
    return value


_OPTIONS = (
    click.option(
        "--run", metavar="NAME", required=True, callback=folder_name, help="Name of the run."
    ),
    click.option(
        "--steps",
        type=POSITIVE,
        default=32,
        show_default=True,
        metavar="N",
        help="Decode steps to profile.",
    ),
    click.option(
        "--concurrency",
        default="1",
        callback=_numbers,
        show_default=True,
        metavar="N,...",
        help="Requests at a time; of several numbers each makes a run NAME-cN.",
    ),
    click.option(
        "--url", metavar="URL", callback=_url, help="Attach to the server that runs there."
    ),
    click.option(
        "--trace-dir",
        metavar="DIR[=INSIDE]",
        help="Attached: where its traces appear; INSIDE as a container sees it.",
    ),
    click.option(
        "--api-key",
        envvar="VLLM_API_KEY",
        show_envvar=True,
        metavar="KEY",
        help="Attached: its API key.",
    ),
    click.option(
        "--engine",
        type=click.Choice(["vllm", "sglang", "torch"]),
        help="Engine [default: as found].",
    ),
    click.option(
        "--input-len",
        type=POSITIVE,
        default=128,
        show_default=True,
        metavar="N",
        help="Tokens of each prompt that is made up.",
    ),
    click.option(
        "--output-len",
        type=POSITIVE,
        metavar="N",
        help="Tokens that a request generates [default: --steps].",
    ),
    click.option(
        "--requests",
        type=POSITIVE,
        metavar="N",
        help="Requests in a window [default: --concurrency].",
    ),
    click.option(
        "--prompts", metavar="FILE", help="Prompts to send instead: one per line, or JSONL."
    ),
    click.option(
        "--api",
        type=click.Choice(["completions", "chat"]),
        default="completions",
        show_default=True,
        help="OpenAI API to speak.",
    ),
    click.option(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        metavar="N",
        help="Seed of prompts that are made up.",
    ),
    click.option(
        "--load",
        metavar="COMMAND",
        help="Command to run in each window as the load, such as 'vllm bench serve ...'; "
        "{url}, {model} and {concurrency} in it are replaced.",
    ),
    click.option(
        "--warmups",
        type=NOT_NEGATIVE,
        default=1,
        show_default=True,
        metavar="N",
        help="Times the load runs before it counts.",
    ),
    click.option(
        "--windows",
        type=POSITIVE,
        default=1,
        show_default=True,
        metavar="N",
        help="Times the load runs without the profiler; the middle one is quoted.",
    ),
    click.option(
        "--delay",
        type=NOT_NEGATIVE,
        default=0,
        show_default=True,
        metavar="N",
        help="Steps to leave out before those profiled.",
    ),
    click.option("--shapes", is_flag=True, help="Record shapes of operators; takes time."),
    click.option("--stacks", is_flag=True, help="Record Python stacks; takes much time."),
    click.option("--allocations", is_flag=True, help="Record memory allocations; takes time."),
    click.option("--nccl-log", is_flag=True, help="Record NCCL's log; takes time."),
    click.option(
        "--no-scopes", is_flag=True, help="Do not mark target, sampling and draft in vLLM."
    ),
    options.out(),
    click.option("--replace", is_flag=True, help="Replace a run of the same name, and its folder."),
    click.option(
        "--start-timeout",
        type=SECONDS,
        callback=finite,
        default=1800.0,
        show_default=True,
        metavar="S",
        help="Seconds for the server to become healthy.",
    ),
    click.option(
        "--stop-timeout",
        type=SECONDS,
        callback=finite,
        default=1800.0,
        show_default=True,
        metavar="S",
        help="Seconds for the ranks to write their traces.",
    ),
)


def add_options(command: Command) -> Command:
    """The command with its options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
