"""A report of a run to send to others: one file of HTML or Markdown, of the reports' numbers alone.

Charts are SVG that a template draws from the few forms needed. Altair's way to static SVG
(vl-convert, a JavaScript engine) would add 105 MB to the extra, jinja2 is 2 MB; and SVG inside the
page takes its colours from the style sheet: one file is right on white, on black and on paper.
"""

from typing import TYPE_CHECKING

from tracekit.report.document import Document
from tracekit.report.measured import Measured
from tracekit.report.render import html, markdown
from tracekit.report.sections import sections
from tracekit.report.summary import findings, key_figures

if TYPE_CHECKING:
    from tracekit.database import Database

__all__ = ["html", "make", "markdown"]


def make(database: "Database", run: str) -> Document:
    """Everything the report says of a run; `html` or `markdown` writes it down."""
    measured = Measured(database)
    (facts,) = measured.ask("run_list", run=run)
    found = findings(measured, facts)
    return Document(
        run=run,
        status=facts.error or "no reason given" if facts.status == "failed" else "",
        figures=key_figures(measured, facts),
        findings=found,
        sections=sections(measured, facts),
        asked=tuple(measured.asked.values()),
    )
