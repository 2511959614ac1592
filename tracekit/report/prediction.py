"""What a report says of other numbers of drafted tokens: the prediction and what it stands on."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import page, whatif_inputs, whatif_page
from tracekit.report import pictures
from tracekit.report.document import Column, Section, table
from tracekit.report.measured import Measured
from tracekit.whatif import forbidden, told

TITLE = "What other numbers of drafted tokens would give"


def sections(measured: Measured, run: str, calibrate: str | None = None) -> tuple[Section, ...]:
    """The best number of drafted tokens; nothing where the runs allow no prediction."""
    inputs = measured.ask("whatif_inputs", run=run, calibrate=calibrate)
    if forbidden(inputs, run, calibrate) is not None:
        return ()
    rows = measured.ask("whatif", inputs=told(inputs))
    own = [row for row in rows if row.is_own]
    best = [row for row in rows if row.is_best]
    stands_on = whatif_inputs.rows(inputs, own[0])
    load = whatif_page.load(own[0])
    shown = (
        table(f"By drafted tokens, for {load}", own, [*DRAFTED, *GAIN]),
        table("The best at each load", best, [*LOAD, *GAIN]),
        table("What it stands on", stands_on, INPUTS),
    )
    words = (whatif_page.answer(own), _known(stands_on), ABOUT)
    return (Section(TITLE, words, (pictures.prediction(own),), shown),)


ABOUT = (
    "A range holds the error of what was measured, and half of all that the model adds to it. "
    "Breaks even at: the rate of acceptance at each position, given the one before, from which "
    "drafts pay."
)


def _known(rows: list[SimpleNamespace]) -> str:
    """How each input is known, the least certain first."""
    kinds = {
        kind: dict.fromkeys(row.name for row in rows if row.kind == kind)
        for kind in ("assumed", "modelled", "given", "measured")
    }
    sentences = (
        f"{kind.capitalize()}: {'; '.join(names)}." for kind, names in kinds.items() if names
    )
    return " ".join(sentences)


def _even(row: SimpleNamespace) -> str:
    if row.k == 0:
        return ""
    rate = row.break_even_acceptance
    return "never" if rate is None else page.per_cent(rate)


def _ms(ns: float | None) -> str:
    return "" if ns is None else units.ms(ns)


DRAFTED: list[Column] = [
    (">K", lambda row: f"{row.k}"),
    (">tokens of a step", lambda row: f"{row.tokens_per_step:.2f}"),
    (">verify ms", lambda row: _ms(row.verify_ns)),
    (">draft ms", lambda row: _ms(row.draft_ns)),
    (">other ms", lambda row: _ms(row.outside_ns)),
    (">step ms", lambda row: _ms(row.step_ns)),
]
GAIN: list[Column] = [
    (">ms per token", lambda row: _ms(row.ns_per_token)),
    (">tok/s", lambda row: f"{row.tokens_per_s:,.0f}"),
    (">times as fast", lambda row: f"{row.speedup:.2f}"),
    (">range", whatif_page.span),
    (">breaks even at", _even),
]
LOAD: list[Column] = [
    (">requests", whatif_page.requests),
    (">ms per token without drafts", lambda row: _ms(row.base_ns_per_token)),
    (">best K", lambda row: f"{row.k or 'none'}"),
]
INPUTS: list[Column] = [
    ("input", lambda row: row.name),
    (">value", lambda row: row.value),
    ("known", lambda row: row.kind),
    ("from", lambda row: row.source),
]
