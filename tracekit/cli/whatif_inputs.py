"""What a prediction stands on, as `tracekit whatif` lists it."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

from rich.cells import cell_len

from tracekit import units
from tracekit.cli import output, table

Rows = list[SimpleNamespace]
Told = tuple[str, Callable[[float], str]]


def lines(inputs: Rows, base: SimpleNamespace, width: int) -> list[str]:
    """One line per input: its value, how it is known, from where."""
    shown = rows(inputs, base)
    heading, *cells = table.of(shown, COLUMNS, width)
    column = max(map(cell_len, cells)) + 1
    found = ["", output.strong(heading)]
    for row, cell in zip(shown, cells, strict=True):
        first, *more = table.wrapped(table.visible(row.source), width - column)
        found.append(f"{cell}{' ' * (column - cell_len(cell))}{first}")
        found += [f"{' ' * column}{line}" for line in more]
    return found


def rows(inputs: Rows, base: SimpleNamespace) -> Rows:
    """Name, value, kind and source of each input worth showing, in words.

    `base` is the row of the report `whatif` without drafts, at the run's own load.
    """
    return [*_modelled_base(inputs, base), *_single(inputs), *_several(inputs)]


def _modelled_base(inputs: Rows, base: SimpleNamespace) -> Rows:
    """The step without drafts, where no run had one and nobody gave it."""
    is_known = {("baseline", "step_ns"), ("model", "baseline_ns")} & {
        (row.subject, row.input) for row in inputs
    }
    row = SimpleNamespace(kind="modelled", source=FROM_DRAFTS)
    return [] if is_known else [_line("step without drafts", _ms(base.step_ns), row)]


FROM_DRAFTS = "the step with drafts, less what they add; a run without drafts makes it surer"


def _ms(ns: float) -> str:
    return f"{units.ms(ns)} ms"


def _number(value: float) -> str:
    return f"{value:,.4g}"


TOLD: dict[tuple[str, str], Told] = {
    ("model", "baseline_ns"): ("step without drafts", _ms),
    ("baseline", "step_ns"): ("step without drafts", _ms),
    ("speculative", "step_ns"): ("step with drafts", _ms),
    ("speculative", "covered"): ("steps with a draft", lambda share: f"{units.percent(share)} %"),
    ("model", "verify_ns"): ("verify", _ms),
    ("model", "experts"): ("experts", _number),
    ("model", "active_experts"): ("active experts", _number),
    ("model", "draft_step_ns"): ("draft, once a step", _ms),
    ("model", "draft_token_ns"): ("draft, a token", _ms),
    ("model", "draft_fraction"): ("draft, a token", lambda value: f"{_number(value)} passes"),
    ("model", "draft_all_reduces"): ("draft all-reduces", _number),
    ("model", "draft_all_reduce_ns"): ("one all-reduce", units.duration),
    ("model", "tokens_per_step"): ("tokens a step", _number),
    ("model", "accepted_per_draft"): ("accepted of a draft", _number),
    ("model", "acceptance_beyond"): ("acceptance beyond", _number),
}
"""Inputs on the page in order: how each is called and written."""

UNSAID = {("draft_step_ns", 0), ("draft_all_reduces", 0), ("covered", 1)}
"""Values that go without saying, unless a user gave them."""


def _single(inputs: Rows) -> Iterator[SimpleNamespace]:
    rows = {(row.subject, row.input): row for row in inputs if row.place is None}
    is_called = rows.get(("model", "draft_all_reduces"), SimpleNamespace(value=0)).value > 0
    for key, (name, written) in TOLD.items():
        row = rows.get(key)
        if row is None or ((row.input, row.value) in UNSAID and row.kind != "given"):
            continue
        if row.input != "draft_all_reduce_ns" or is_called:
            yield _line(name, written(row.value), row)


def _several(inputs: Rows) -> Iterator[SimpleNamespace]:
    """Acceptance by position, and the curve of all-reduces, in a line each."""
    rates = [row for row in inputs if row.subject == "position"]
    curve = [row for row in inputs if row.subject == "curve"]
    if rates:
        yield _line("acceptance", ", ".join(f"{row.value:.3g}" for row in rates), rates[0])
    if curve:
        yield _line("all-reduce by size", f"{len(curve)} sizes", curve[0])


def _line(name: str, value: str, row: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(name=name, value=value, kind=row.kind, source=row.source)


COLUMNS: list[table.Spec] = [
    (table.label("input"), lambda row: row.name),
    (table.label("value"), lambda row: table.shorten(row.value, 26)),
    (table.label("known"), lambda row: row.kind),
]
