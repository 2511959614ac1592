"""Overview: the runs, and of the chosen one the key figures and findings."""

from dataclasses import replace
from types import SimpleNamespace

import streamlit as st

from tracekit.app import choice, data, pairs, parts
from tracekit.cli import page
from tracekit.report.document import Finding
from tracekit.report.summary import ONE_RUN

STEP = ("step", "Step")
COLLECTIVES = ("collectives", "Collectives")
COMPARE = ("compare", "Compare")
"""Views that prove findings, and their titles."""

TOPICS = {
    "all_reduce": ("AllReduce", COLLECTIVES),
    "ranks": ("Slowest rank", COLLECTIVES),
    "gemm": ("GEMM", STEP),
    "host": ("Host", STEP),
    "drafts": ("Drafts", ("speculation", "Speculation")),
    "unknown": ("Unknown kernels", STEP),
}
"""What each finding is about, in a word, and where its proof is."""

COLUMNS = (
    *("run", "model", "speculative_method", "ns_per_token", "all_reduce_share_of_step"),
    *("step_p50_ns", "n_ranks", "n_lost", "is_unprofiled", "kind", "n_steps", "tensor_parallel"),
    "gpu",
)


def show_runs(runs: list[SimpleNamespace]) -> None:
    """All runs with their headlines; a click chooses one."""
    st.subheader("All runs")
    frame = data.report("run_headline")
    parts.table(
        frame, "run_headline", {}, COLUMNS, pick=lambda row: choice.keep("run", runs[row].run)
    )


def show_run(run: SimpleNamespace) -> None:
    """What the run is, its key figures, and what was found."""
    st.subheader(parts.escaped(parts.named(run.run)))
    facts = (page.engine(run), run.model, run.gpu, page.ranks(run, run.n_ranks))
    st.caption(parts.escaped(" · ".join(parts.named(fact) for fact in facts if fact)))
    if run.status == "failed":
        st.warning(parts.escaped(f"The capture failed: {run.error or 'no reason given'}"))
    figures, findings = data.summarized(run.run)
    if not figures:
        parts.empty("No step with work on the device: what the traces hold is on Data quality.")
    parts.headline(figures)
    answered = ""
    for other in others(run)[:1]:
        answered = ONE_RUN if pairs.is_question(run, other) else ""
        show_comparison(run, other)
    for finding in findings:
        told = replace(finding, text=finding.text.replace(answered, "").strip())
        show_finding(told, *TOPICS[finding.topic])


def show_late(run: str) -> None:
    """What is found only after all else is shown."""
    for finding in data.found_late(run):
        show_finding(finding, *TOPICS[finding.topic])


def others(run: SimpleNamespace) -> list[SimpleNamespace]:
    """The run it is compared with; else those of the same model that draft where it does not."""
    if chosen := choice.current().other:
        return [other for other in runs if other.run == chosen]
    return [
        other
        for other in runs
        if (other.model, other.gpu) == (run.model, run.gpu) and pairs.is_question(run, other)
    ]


def show_comparison(run: SimpleNamespace, other: SimpleNamespace) -> None:
    """Which of the two is faster."""
    topic = "Do drafts pay?" if pairs.is_question(run, other) else "Compared"
    for finding in data.compared(*pairs.ordered(run, other)):
        show_finding(finding, topic, COMPARE, other=other.run)


def show_finding(finding: Finding, topic: str, proof: tuple[str, str], **choices: str) -> None:
    """What it is about, the sentence with what is to be said beside it, the way to its proof."""
    view, title = proof
    with st.container(border=True):
        about, words, link = st.columns([1.2, 6, 1.2], vertical_alignment="center")
        about.caption(parts.escaped(topic))
        words.markdown(f"**{parts.escaped(finding.title)}** {parts.escaped(finding.text)}")
        link.page_link(
            f"views/{view}.py",
            label=title,
            icon=":material/arrow_forward:",
            query_params={"run": choice.current().run, **choices},
        )


runs = data.rows("run_list")
st.title("Overview")
for chosen in data.rows("run_list", run=choice.current().run):
    show_run(chosen)
late = st.container()
show_runs(runs)
with late, st.spinner("Reading every kernel"):
    show_late(choice.current().run)
