"""A report of a run to send to others: one file of HTML or Markdown, of the reports' numbers alone.

Charts are SVG that a template draws from the few forms needed. Altair's way to static SVG
(vl-convert, a JavaScript engine) would add 105 MB to the extra, jinja2 is 2 MB; and SVG inside the
page takes its colours from the style sheet: one file is right on white, on black and on paper.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from tracekit.report import comparison, prediction
from tracekit.report.document import Document, Finding, Section
from tracekit.report.measured import Measured
from tracekit.report.render import html, markdown
from tracekit.report.sections import sections
from tracekit.report.summary import ONE_RUN, findings, key_figures

if TYPE_CHECKING:
    from tracekit.database import Database

__all__ = ["compare", "html", "make", "markdown"]


def make(database: "Database", run: str) -> Document:
    """Everything the report says of a run; `html` or `markdown` writes it down."""
    measured = Measured(database)
    return _of_run(measured, run, prediction.sections(measured, run))


def compare(database: "Database", base: str, other: str) -> Document:
    """What the report says of two runs: the other against the base, then each by itself."""
    measured = Measured(database)
    figures = comparison.key_figures(measured, base, other)
    told = comparison.findings(measured, base, other)
    parts = comparison.sections(measured, base, other)
    joint = prediction.sections(measured, base, other) if figures else ()
    each = [
        _named(_of_run(measured, run, () if joint else prediction.sections(measured, run)))
        for run in (base, other)
    ]
    return Document(
        run=f"{base} and {other}",
        status="; ".join(document.status for document in each if document.status),
        figures=(*figures, *(figure for document in each for figure in document.figures)),
        findings=(*told, *_beside(each, is_compared=bool(figures))),
        sections=(*parts, *joint, *(section for document in each for section in document.sections)),
        asked=tuple(measured.asked.values()),
    )


def _beside(each: list[Document], *, is_compared: bool) -> list[Finding]:
    """Findings of each; where one of the two drafts, the other tells whether that pays."""
    drafting = [d for d in each if any(finding.topic == "drafts" for finding in d.findings)]
    answered = ONE_RUN if is_compared and len(drafting) == 1 else ""
    return [
        replace(finding, text=finding.text.replace(answered, "").strip())
        for document in each
        for finding in document.findings
    ]


def _of_run(measured: Measured, run: str, predicted: tuple[Section, ...]) -> Document:
    (facts,) = measured.ask("run_list", run=run)
    return Document(
        run=run,
        status=facts.error or "no reason given" if facts.status == "failed" else "",
        figures=key_figures(measured, facts),
        findings=findings(measured, facts),
        sections=sections(measured, facts, predicted),
        asked=tuple(measured.asked.values()),
    )


def _named(document: Document) -> Document:
    """The document with the run's name wherever two runs would look alike."""
    run = document.run
    return replace(
        document,
        status=f"{run}: {document.status}" if document.status else "",
        figures=tuple(replace(f, name=f"{run}: {f.name}") for f in document.figures),
        findings=tuple(replace(f, title=f"{run}: {f.title}") for f in document.findings),
        sections=tuple(replace(s, title=f"{run}: {s.title}") for s in document.sections),
    )
