"""Collectives: transfer and waiting, by message size and by rank, and how the GPUs talk."""

from shlex import quote

import pandas as pd
import streamlit as st

from tracekit import units
from tracekit.app import choice, data, parts, theme
from tracekit.app.charts import collectives
from tracekit.cli import comms_ranks
from tracekit.queries.header import Value
from tracekit.report.document import Figure

SIGNATURES = (
    *("phase", "category", "impl", "bytes", "dtype", "calls", "sum_ns", "dur_p50_ns"),
    *("transfer_p50_ns", "wait_share", "busbw_gb_per_s", "model_ns", "measured_ns"),
    *("class", "missing"),
)
RANKS = (
    *("dp", "rank", "last_share", "lateness_ns", "waiting_ns", "others_wait_ns", "cost_ns"),
    *("cost_share", "host_share", "device_share", "first_habit_step", "last_habit_step"),
)
DOUBTS = {
    "comm_issues": ("text", "advice"),
    "comm_warnings": ("example", "n", "meaning", "advice", "place"),
}
"""Reports with rows only where something is doubtful, and the columns of each that are shown."""

CURVE, MEASURED = "curve", "Measured curve"
READING = (
    "A point is the transfer of a call; the line above it ends at the whole call, with its waiting;"
    " a short bar is the bound of NCCL's model, a broken line what was measured."
)
CAPTURE, SERVE = "tracekit capture --run NAME", "vllm serve MODEL -tp 8"

chosen = choice.current()
is_dark = theme.is_dark()


def transfer_and_waiting() -> None:
    """How much of each collective is transfer, and how much is waiting."""
    params = chosen.params("comm_waiting", step=None)
    frame = data.report("comm_waiting", **params)
    shown = frame[frame["phase"].notna()]
    for name, asked in (("phase", chosen.phase), ("category", chosen.category)):
        shown = shown if asked is None else shown[shown[name] == asked]
    if not shown.empty:
        st.subheader("Transfer and waiting")
        parts.chart(collectives.split(shown, is_dark), "comm_waiting", params)


def ranks() -> None:
    """Who waits for whom."""
    params = chosen.params("comm_ranks")
    rows = data.rows("comm_ranks", **params)
    if not rows:
        unmatched()
        return
    st.subheader("Who is waited for")
    (skew,) = data.rows("comm_skew", **chosen.params("comm_skew"))
    (run,) = data.rows("run_list", run=chosen.run)
    figures = [
        Figure("in collectives", units.ms(skew.sum_ns), "ms", "in a step, of a rank"),
        Figure("waiting", units.ms(skew.waiting_ns), "ms", "of it, by durations"),
    ]
    if skew.arrival_p50_ns is not None:
        apart = units.us(skew.arrival_p50_ns)
        figures.append(Figure("ranks arrive", apart, "us", "apart, median of calls"))
    parts.headline(figures)
    st.write(parts.escaped(" ".join(comms_ranks.sentences(rows, skew, run))))
    frame = data.report("comm_ranks", **params)
    st.altair_chart(collectives.last(frame, is_dark))
    parts.table(frame, "comm_ranks", params, shown=RANKS)
    rank_steps()


def rank_steps() -> None:
    """The map of ranks and steps."""
    st.subheader("Ranks and steps")
    measure = st.segmented_control("Show", list(collectives.MEASURES), default="waiting")
    params = chosen.params("comm_rank_steps")
    frame = data.report("comm_rank_steps", **params)
    picture = collectives.rank_steps(frame, measure or "waiting", is_dark)
    parts.chart(picture, "comm_rank_steps", params)


def sizes(frame: pd.DataFrame, params: dict[str, Value], curves: list[str]) -> None:
    """Time by message size, against what is possible."""
    st.subheader("Size and time")
    if curves:
        options = ["", *curves]
        place = options.index(str(params["calibration"] or ""))
        st.selectbox(
            MEASURED,
            options,
            place,
            format_func=lambda run: parts.visible(run) or "none",
            key=CURVE,
            on_change=take_curve,
        )
    if frame["bytes"].notna().any():
        st.caption(READING)
        curve = data.report("bench_curve", run=params["calibration"] or chosen.run)
        st.altair_chart(collectives.sizes(frame, curve, is_dark))
    else:
        parts.empty("Message sizes are not known.", f"tracekit comms {quote(chosen.run)} --issues")
    parts.table(frame, "comms", params, shown=SIGNATURES)


def take_curve() -> None:
    """Keep the curve that was chosen in the address."""
    choice.keep("calibration", st.session_state[CURVE] or None)


def topology() -> None:
    """How the GPUs talk, in words."""
    st.subheader("How the GPUs talk")
    params = chosen.params("comm_topology")
    frame = data.report("comm_topology", **params)
    if frame.empty:
        parts.empty(
            "There is no log of NCCL beside the traces.", f"{CAPTURE} --nccl-log -- {SERVE}"
        )
    else:
        parts.table(frame, "comm_topology", params, shown=("topic", "words"))


def doubts() -> None:
    """What is doubtful about the calls, and what NCCL warned of."""
    found = {name: data.report(name, run=chosen.run) for name in DOUBTS}
    if not all(frame.empty for frame in found.values()):
        st.subheader("What is doubtful")
    for name, frame in found.items():
        if not frame.empty:
            parts.table(frame, name, {"run": chosen.run}, shown=DOUBTS[name])


def unmatched() -> None:
    """Why waiting is not known, and what to run."""
    issue, *_ = data.rows("comm_issues", run=chosen.run)
    words = "; ".join(filter(None, (issue.text, issue.advice)))
    again = f"tracekit ingest FOLDER --run {quote(chosen.run)} --replace"
    parts.empty(f"Who waits for whom cannot be told: {words}.", again)


def nothing() -> None:
    """Why there are no collectives, and what to run."""
    if any(row.issue == "no_collectives" for row in data.rows("comm_issues", run=chosen.run)):
        parts.empty(
            f"{chosen.run} has no collectives: no ranks that talk.", f"{CAPTURE} -- {SERVE}"
        )
    else:
        parts.empty("No collectives in such steps: choose others in the sidebar.")


def below() -> list[tuple[str, dict[str, Value]]]:
    """What the sections ask, in their order."""
    names = ("comm_ranks", "comm_skew", "comm_rank_steps", "comm_topology", *DOUBTS)
    return [
        ("comm_waiting", chosen.params("comm_waiting", step=None)),
        *((name, chosen.params(name)) for name in names),
    ]


st.title("Collectives")
data.ahead(below())
there = [row.run for row in data.rows("calibration_list")]
own = chosen.run if chosen.run in there else None
asked = choice.known("calibration", MEASURED, lambda said: said if said in there else None)
chosen_calls = chosen.params("comms", calibration=asked or own)
calls = data.report("comms", **chosen_calls)
if calls.empty:
    nothing()
else:
    transfer_and_waiting()
    ranks()
    sizes(calls, chosen_calls, there)
    topology()
    doubts()
