"""What a user chooses by number or name has to be there: an error names what is."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tracekit.cli.table import visible
from tracekit.errors import QueryError
from tracekit.rules import builtin_document

if TYPE_CHECKING:
    from tracekit.database import Database

SPANS = 8
"""Spans of numbers an error names."""


def check_steps(
    database: "Database",
    run: str,
    *,
    dp: int | None = None,
    rank: int | None = None,
    step: int | None = None,
) -> None:
    """Passes where the run has the engine, and in it the rank and the step.

    Raises:
        QueryError: it has not.
    """
    if dp is rank is step is None:
        return
    engines = database.report("engine_list", run=run).records()
    _check(visible(run), "data-parallel engine", dp, (engine.dp for engine in engines))
    chosen = [engine for engine in engines if dp in (None, engine.dp)]
    place = visible(run) if dp is None else f"{visible(run)}, engine {dp}"
    _check(place, "rank", rank, _all(chosen, "ranks"))
    _check(place, "step", step, _all(chosen, "steps"))


def check_category(database: "Database", run: str, category: str | None) -> None:
    """Passes for a category that tracekit knows, whether or not the run has kernels of it.

    Raises:
        QueryError: there is no such category.
    """
    if category is None or category in builtin_document()["categories"]:
        return
    rows = database.report("kernels", run=run).records()
    there = ", ".join(sorted({row.category for row in rows})) or "none"
    raise QueryError(f"{visible(run)}: no category {category!r}; it has: {there}")


def spans(numbers: Iterable[int]) -> str:
    """`0-3, 7` of 0, 1, 2, 3 and 7."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    told = [f"{low}" if low == high else f"{low}-{high}" for low, high in found[:SPANS]]
    return ", ".join(told) + (", ..." if len(found) > SPANS else "")


def _all(engines: list[SimpleNamespace], column: str) -> list[int]:
    return [number for engine in engines for number in getattr(engine, column)]


def _check(place: str, what: str, number: int | None, there: Iterable[int]) -> None:
    numbers = list(there)
    if number is not None and number not in numbers:
        has = spans(numbers) or "none that is known"
        raise QueryError(f"{place}: no {what} {number}; it has: {has}")
