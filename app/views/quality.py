"""Data quality: what was lost or is doubtful, and how far the numbers can be trusted."""

from types import SimpleNamespace

import streamlit as st

from tracekit import units
from tracekit.app import choice, data, parts
from tracekit.cli import page
from tracekit.cli.headline import profiling

ON_CPU = "A CPU has no launches: its work is in the step that it runs in."

DOUBTS = (
    (
        "losses",
        "Events skipped or doubted",
        "No event that is needed was skipped, and none is doubted.",
    ),
    (
        "comm_issues",
        "Collectives: what is doubtful or not known",
        "Nothing about collectives is doubtful.",
    ),
    ("comm_warnings", "Warnings of NCCL", "No log has a warning of NCCL."),
    ("unread", "Files that were not read", "Every file was read."),
)
"""Reports with rows only where something is wrong, the heading of each, and what is said else."""


def show_trust(run: str) -> None:
    """What the numbers stand on, in sentences."""
    (facts,) = data.rows("run_list", run=run)
    for row in data.rows("breakdown_headline", run=run):
        sources = page.sources(row.phase_sources) or "no phase is told"
        st.markdown(
            parts.escaped(
                f"{page.per_cent(row.unknown_share)} of the busy time of a {row.kind} step is in "
                f"kernels of no known class; {sources}. {launches(row, facts.backend == 'cpu')}"
            )
        )
    for sentence in profiling(data.rows("profiling_cost", run=run), parts.WIDE):
        st.markdown(parts.escaped(sentence))


def launches(row: SimpleNamespace, is_on_cpu: bool) -> str:
    """How many activities have no launch to tell their step by; a CPU has none."""
    if not row.n_unlinked:
        return ON_CPU if is_on_cpu else "Every activity has its launch in the trace."
    return (
        f"{row.n_unlinked:,} activities ({units.duration(row.unlinked_ns)}) have no launch in the "
        f"trace, {row.n_unplaced:,} of them are in no step."
    )


def show_doubts(run: str) -> None:
    """What is in order, then each report that has rows."""
    found = [(*doubt, data.report(doubt[0], run=run)) for doubt in DOUBTS]
    clean = [said for _, _, said, frame in found if frame.empty]
    if clean:
        st.success(parts.escaped(" ".join(clean)))
    for name, title, _, frame in found:
        if not frame.empty:
            st.subheader(title)
            parts.table(frame, name, {"run": run})


run = choice.current().run
st.title("Data quality")
show_trust(run)
show_doubts(run)
st.subheader("Events of each file")
parts.table(data.report("ledger", run=run), "ledger", {"run": run})
