"""tracekit doctor: what can be captured here."""

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli import options, output, page, table

if TYPE_CHECKING:
    from tracekit.collectors.doctor.finding import Finding

TOPIC = 14
MARGIN = TOPIC + len("warning ")
ARROW = "-> "
NEXT = {
    "vLLM": ("tracekit capture --run NAME -- vllm serve MODEL", "profile a server of vLLM"),
    "SGLang": ("tracekit capture --run NAME -- sglang serve MODEL", "profile a server of SGLang"),
    "PyTorch": ("tracekit capture --engine torch -- python script.py", "profile a script"),
}


@click.command("doctor")
@options.out()
@options.db()
@options.output_format()
def command(out: Path, db: str | None, form: str) -> None:
    """Say what can be captured here, and what is missing."""
    from tracekit.collectors.doctor import examine

    findings = chain(examine(out, os.environ), map(_database, [db]))
    if form == "table":
        output.write_lines(_page(findings, output.page_width()))
    else:
        output.write_data(_Rows(list(findings)), form)


def _database(db: str | None) -> "Finding":
    """Where a capture goes once it is recorded."""
    from tracekit.collectors.doctor.finding import Finding
    from tracekit.database import Database, default_database
    from tracekit.errors import TracekitError
    from tracekit.place import is_database, resolve

    path = default_database(db)
    try:
        runs = Database(path).runs() if is_database(resolve(path)) else []
    except TracekitError as error:
        found, _, remedy = str(error).partition("; ")
        return Finding("database", "warning", found, remedy)
    return Finding("database", "ok", f"{path}: {page.counted(len(runs), 'run')}")


class _Rows:
    """Findings as a table."""

    columns = ("topic", "state", "found", "remedy")

    def __init__(self, findings: list["Finding"]) -> None:
        self._findings = findings

    def __iter__(self) -> Iterator[Sequence[object]]:
        return map(astuple, self._findings)


def _page(findings: Iterable["Finding"], width: int) -> Iterator[str]:
    """Each finding as soon as it is made: a tool that hangs takes its time."""
    possible = []
    for finding in findings:
        yield from _lines(finding, width)
        if finding.state != "missing" and finding.topic in NEXT:
            possible.append(NEXT[finding.topic])
    if possible:
        yield from page.next_commands(possible)


def _lines(finding: "Finding", width: int) -> Iterator[str]:
    room = max(width, 2 * MARGIN) - MARGIN  # however narrow the terminal is
    found = _wrapped(finding.found, room)
    remedy = _wrapped(finding.remedy or "", room - len(ARROW))
    marks = [ARROW, *[" " * len(ARROW)] * len(remedy)]
    first, *more = [*found, *(mark + line for mark, line in zip(marks, remedy, strict=False))]
    state = finding.state if finding.state == "ok" else output.warning(finding.state)
    gap = " " * (MARGIN - TOPIC - len(finding.state))
    yield f"{finding.topic:{TOPIC}}{state}{gap}{first}"
    for line in more:
        yield " " * MARGIN + line


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of a text that may have paths longer than a line."""
    return textwrap.wrap(table.visible(text), width, break_on_hyphens=False)
