"""Results on stdout: as csv, as json, or as lines of a page."""

import csv
import io
import json
import math
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Protocol

import click

from tracekit.cli.table import visible


class Rows(Protocol):
    """A table, such as the result of a query."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        ...

    def __iter__(self) -> Iterator[Sequence[object]]:
        """The rows, values in the order of the columns."""
        ...


def write_data(result: Rows, form: str) -> None:
    """Rows of a result as csv or json, one at a time.

    JSON keeps every name exactly; in csv control characters are written as their escapes, so
    that a name can neither break a line nor talk to the terminal.
    """
    if form == "csv":
        _echo(_csv_line(result.columns))
        for row in result:
            _echo(_csv_line(map(_csv_cell, row)))
    else:
        _write_json(result)


def write_object(value: dict[str, object]) -> None:
    """One JSON object: several results that belong together."""
    _echo(_json(value))


def write_lines(lines: Iterable[str]) -> None:
    """Lines of a page."""
    for line in lines:
        _echo(line)


def note(text: str) -> None:
    """A line on stderr: what is no result."""
    click.echo(visible(text), err=True)


def page_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def strong(line: str) -> str:
    """A heading or total."""
    return click.style(line, bold=True)


def warning(line: str) -> str:
    """What a reader must not miss."""
    return click.style(line, fg="yellow")


def faint(line: str) -> str:
    """What can be skipped."""
    return click.style(line, dim=True)


def to_paste(db: str | None, *words: str) -> str:
    """A tracekit command to paste, on the same database."""
    more = ["--db", db] if db else []
    return " ".join(shlex.quote(visible(word)) for word in ("tracekit", *words, *more))


def _echo(line: str) -> None:
    # click drops colours where stdout is no terminal.
    click.echo(line, color=False if os.environ.get("NO_COLOR") else None)


def _csv_line(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return visible(value) if isinstance(value, str) else value


def _write_json(result: Rows) -> None:
    separator = "["
    for row in result:
        _echo(separator + _json(dict(zip(result.columns, row, strict=True))))
        separator = ","
    _echo("]" if separator == "," else "[]")


def _json(value: dict[str, object]) -> str:
    text = json.dumps(_plain(value), ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_json_character, text))


def _plain(value: object) -> object:
    """`value` in the types JSON has: no NaN, decimals as numbers, dates and the like as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, int | str) else str(value)


def _json_character(character: str) -> str:
    if character.isprintable():
        return character
    units: Sequence[int] = memoryview(character.encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join(f"\\u{unit:04x}" for unit in units)
