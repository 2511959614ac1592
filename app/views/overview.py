"""Overview: the runs, and of the chosen one the key figures and findings."""

from types import SimpleNamespace

import streamlit as st

from tracekit.app import choice, data, parts
from tracekit.cli import page
from tracekit.report.document import Finding

PROOF = {
    "all_reduce": ("collectives", "Collectives"),
    "ranks": ("collectives", "Collectives"),
}
"""The view that proves a finding, and its title; Step for all others."""

COLUMNS = (
    "run",
    "engine",
    "model",
    "gpu",
    "tensor_parallel",
    "n_ranks",
    "speculative_method",
    "n_decode_steps",
    "n_activities",
    "n_lost",
)


def show_runs(runs: list[SimpleNamespace]) -> None:
    """All runs; a click chooses one."""
    st.subheader("All runs")
    frame = data.report("run_list")
    parts.table(frame, "run_list", {}, COLUMNS, pick=lambda row: choice.keep("run", runs[row].run))


def show_run(run: SimpleNamespace) -> None:
    """What the run is, its key figures, and what was found."""
    st.subheader(parts.escaped(run.run))
    facts = (page.engine(run), run.model, run.gpu, page.ranks(run, run.n_ranks))
    st.caption(parts.escaped(" · ".join(filter(None, facts))))
    if run.status == "failed":
        st.warning(parts.escaped(f"The capture failed: {run.error or 'no reason given'}"))
    figures, findings = data.summarized(run.run)
    if not figures:
        parts.empty("No step with work on the device: what the traces hold is on Data quality.")
    parts.headline(figures)
    for finding in (*whether_drafts_pay(run), *findings):
        show_finding(finding)


def whether_drafts_pay(run: SimpleNamespace) -> tuple[Finding, ...]:
    """The run against the one it is compared with, else against one like it that drafts or not."""
    other = choice.current().other or counterpart(run)
    if other is None:
        return ()
    base, drafting = (other, run.run) if run.speculative_method else (run.run, other)
    return data.compared(base, drafting)


def counterpart(run: SimpleNamespace) -> str | None:
    """The first run of the same model that drafts where this one does not, or the other way."""
    for other in runs:
        is_alike = (other.model, other.gpu) == (run.model, run.gpu)
        if is_alike and bool(other.speculative_method) != bool(run.speculative_method):
            return str(other.run)
    return None


def show_finding(finding: Finding) -> None:
    """The sentence, what is to be said beside it, and the way to its proof."""
    view, title = PROOF.get(finding.topic, ("step", "Step"))
    with st.container(border=True):
        words = st.container()
        words.markdown(f"**{parts.escaped(finding.title)}** {parts.escaped(finding.text)}")


runs = data.rows("run_list")
st.title("Overview")
for chosen in data.rows("run_list", run=choice.current().run):
    show_run(chosen)
show_runs(runs)
