"""Data quality: what was lost or is doubtful, and how far the numbers can be trusted."""

import streamlit as st

from tracekit.app import choice, data, parts
from tracekit.cli import page
from tracekit.cli.headline import profiling

WIDE = 10_000
"""Columns of a page whose sentences are to stay whole."""

DOUBTS = (
    ("losses", "Events skipped or doubted"),
    ("comm_issues", "Collectives: what is doubtful or not known"),
    ("comm_warnings", "Warnings of NCCL"),
    ("unread", "Files that were not read"),
)
"""Reports that have rows only where something is wrong, and what each is called."""


def show_trust(run: str) -> None:
    """What share of the time the numbers stand on, in sentences."""
    for row in data.rows("breakdown_headline", run=run):
        sources = page.sources(row.phase_sources) or "no phase is told"
        st.markdown(
            parts.escaped(
                f"Of a {row.kind} step, {page.per_cent(row.unknown_share)} of busy time is in "
                f"kernels of no known class; {sources}. Activities without their launch in the "
                f"trace: {row.n_unlinked:,}, of them in no step: {row.n_unplaced:,}."
            )
        )
    for sentence in profiling(data.rows("profiling_cost", run=run), WIDE):
        st.markdown(parts.escaped(sentence))


def show_doubts(run: str) -> None:
    """Each report with rows; what is in order in one sentence."""
    found = [(name, title, data.report(name, run=run)) for name, title in DOUBTS]
    clean = [title for _, title, frame in found if frame.empty]
    if clean:
        st.success(parts.escaped(f"Nothing under: {'; '.join(clean)}."))
    for name, title, frame in found:
        if not frame.empty:
            st.subheader(title)
            parts.table(frame, name, {"run": run})


run = choice.current().run
st.title("Data quality")
show_trust(run)
show_doubts(run)
st.subheader("Events of each file")
parts.table(data.report("ledger", run=run), "ledger", {"run": run})
