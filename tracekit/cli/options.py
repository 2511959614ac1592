"""Options and arguments that several verbs take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class Decorator(Protocol):
    """Adds an option or argument to a command."""

    def __call__(self, command: Command, /) -> Command:
        """The command with it."""


FORMATS = ("table", "csv", "json")


def db() -> Decorator:
    """`--db FILE`; None where it is left out."""
    text = "Database [default: $TRACEKIT_DB, else tracekit.duckdb]."
    return click.option("--db", metavar="FILE", type=click.Path(), help=text)


def out() -> Decorator:
    """`--out DIR`, a path."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        default=Path("tracekit-runs"),
        show_default=True,
        metavar="DIR",
        help="Where run folders go.",
    )


def output_format() -> Decorator:
    """`--format table|csv|json`."""
    text = "Table to read, csv or json to go on with; times are then nanoseconds."
    kind = click.Choice(FORMATS)
    return click.option(
        "--format", "form", type=kind, default="table", show_default=True, help=text
    )


def run_name() -> Decorator:
    """`[RUN]`; None where it is left out."""
    return click.argument("run", required=False)


def rank() -> Decorator:
    """`--rank N`; None where it is left out."""
    return click.option(
        "--rank", type=int, metavar="N", help="Only this rank, not the mean over all."
    )


def dp() -> Decorator:
    """`--dp N`; None where it is left out."""
    return click.option(
        "--dp", type=int, metavar="N", help="Only this data-parallel engine, not all."
    )


def kind() -> Decorator:
    """`--kind KIND`; None where it is left out."""
    text = "Kind of steps [default: decode, or the commonest where there is none]."
    kinds = click.Choice(["prefill", "decode", "mixed", "idle", "unknown"])
    return click.option("--kind", type=kinds, help=text)


def phase() -> Decorator:
    """`--phase PHASE`; None where it is left out."""
    phases = click.Choice(["prepare", "forward", "verify", "sample", "draft", "other"])
    return click.option("--phase", type=phases, help="Only this phase.")
