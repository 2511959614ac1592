"""tracekit check-draft: whether a draft can draft for a target, before either is loaded."""

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli import options, output, page, table

if TYPE_CHECKING:
    from tracekit.draft_check import Findings
    from tracekit.draft_check.finding import Check, Verdict

GATE = 3
"""Exit code where the method asked for fails."""

METHODS = ("draft_model", "eagle", "eagle3", "medusa", "mtp", "ngram")
ARROW = "-> "
NAME = 12
MARGIN = NAME + len("likely ")
CHECKS = [
    (table.name("", minimum=16, yields=1), lambda row: row.topic),
    (table.name("target", minimum=12), lambda row: row.target),
    (table.name("draft", minimum=12), lambda row: row.draft),
    (table.label(""), lambda row: "" if row.state == "told" else row.state),
]
NEEDS = {"ngram": {"prompt_lookup_max": 4}}
"""What a method has to be told beside the number of tokens."""


@click.command("check-draft")
@click.argument("target", type=click.Path(path_type=Path))
@click.argument("draft", type=click.Path(path_type=Path), required=False)
@click.option(
    "--method", type=click.Choice(METHODS), help="Only this method; exit code 3 where it fails."
)
@options.db()
@options.output_format()
def command(
    target: Path, draft: Path | None, method: str | None, db: str | None, form: str
) -> None:
    """Say whether a draft can draft for a target, and by which method.

    TARGET and DRAFT are folders of models. Read are config.json, tokenizer and generation files and
    the headers of safetensors files, never weights. Without DRAFT: what TARGET can do alone.
    """
    from tracekit.draft_check import check_draft

    found = check_draft(target, draft)
    verdicts = [verdict for verdict in found.verdicts if method in (None, verdict.method)]
    if not verdicts:
        raise click.UsageError(f"--method {method} needs a DRAFT.")
    if form == "table":
        output.write_lines(_page(found, verdicts, db, output.page_width()))
    else:
        output.write_data(_Rows(found.checks, verdicts), form)
    if method and verdicts[0].outcome == "fails":
        click.get_current_context().exit(GATE)


class _Rows:
    """Checks and verdicts as one table."""

    columns = ("kind", "name", "state", "target", "draft", "reason", "remedy")

    def __init__(self, checks: Sequence["Check"], verdicts: Sequence["Verdict"]) -> None:
        self._checks, self._verdicts = checks, verdicts

    def __iter__(self) -> Iterator[Sequence[object]]:
        for row in self._verdicts:
            yield ("verdict", row.method, row.outcome, None, None, row.reason, row.remedy)
        for check in self._checks:
            beside = (check.target, check.draft, check.note)
            yield ("check", check.topic, check.state, *beside, "")


def _page(
    found: "Findings", verdicts: Sequence["Verdict"], db: str | None, width: int
) -> Iterator[str]:
    for row in verdicts:
        yield from _verdict(row, width)
    yield ""
    heading, *lines = table.of(found.checks, CHECKS, width)  # type: ignore[arg-type]
    yield output.strong(heading)
    for check, line in zip(found.checks, lines, strict=True):
        yield output.warning(line) if check.state == "wrong" else line
        if check.note:
            room = max(width, 40) - 2
            yield from (f"  {part}" for part in table.wrapped(table.visible(check.note), room))
    working = [row for row in verdicts if row.outcome != "fails"]
    if working:
        words = _next(found, working[0].method, db)
        yield from page.next_commands([(words, f"whether {working[0].method} pays")])


def _verdict(row: "Verdict", width: int) -> Iterator[str]:
    room = max(width, 2 * MARGIN) - MARGIN  # however narrow the terminal is
    told = table.wrapped(table.visible(row.reason), room)
    remedy = table.wrapped(table.visible(row.remedy), room - len(ARROW))
    marks = [ARROW, *[" " * len(ARROW)] * len(remedy)]
    first, *more = [*told, *(mark + line for mark, line in zip(marks, remedy, strict=False)), ""]
    state = f"{row.outcome:{MARGIN - NAME}}"
    state = state if row.outcome == "works" else output.warning(state)
    yield f"{row.method:{NAME}}{state}{first}".rstrip()
    for line in filter(None, more):
        yield " " * MARGIN + line


def _next(found: "Findings", method: str, db: str | None) -> str:
    """The command that profiles a server which drafts so."""
    n_tokens = {"mtp": 1, "medusa": found.draft.n_medusa_heads or 3 if found.draft else 3}
    config: dict[str, object] = {
        "method": method,
        "num_speculative_tokens": n_tokens.get(method, 3),
    }
    if method not in ("mtp", "ngram") and found.draft:
        config["model"] = str(found.draft.folder)
    config |= NEEDS.get(method, {})
    words = ["tracekit", "capture", "--run", method, *(["--db", db] if db else []), "--"]
    words += ["vllm", "serve", str(found.target.folder), "--speculative-config", json.dumps(config)]
    return " ".join(shlex.quote(table.visible(word)) for word in words)
