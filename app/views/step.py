"""Step: what fills the steps of a run, and of one of them what ran on the device."""

from functools import partial
from shlex import quote
from types import SimpleNamespace

import streamlit as st

from tracekit import units
from tracekit.app import choice, data, parts, picking, theme
from tracekit.app.charts import steps, timeline
from tracekit.cli import page
from tracekit.queries.header import Value
from tracekit.report.document import Figure

KERNELS = ("phase", "category", "impl", "busy_ns", "share_of_step", "calls", "ns_per_call", "name")
ONE_ENGINE = (
    "The bars are the mean over {n} engines; what follows is of engine {engine}. "
    "Choose another in the sidebar."
)

SHOWN, KERNELS_TAB = "shown", "Kernels"
"""What the address calls the tab that is open, and the one of them that it has to name."""

ONE_BY_ONE = 1_000
"""Activities that the lanes show one by one: of more, most are thinner than a pixel."""

chosen = choice.current()
is_dark = theme.is_dark()
engines = data.rows("engine_list", run=chosen.run)


def over_time(picked: int) -> None:
    """Bars of all steps; a click on one picks it."""
    by = st.segmented_control("Colour by", ["category", "phase"], default="category") or "category"
    params = chosen.params("step_profile")
    frame = data.report("step_profile", **params)
    picture = steps.profile(frame, by, picked, is_dark)
    st.altair_chart(picture, key=picking.PROFILE, on_select=picking.clicked)
    parts.computed("step_profile", params)


def spread() -> None:
    """How the times of steps are spread."""
    params = chosen.params("step_histogram")
    frame = data.report("step_histogram", **params)
    parts.chart(steps.spread(frame, is_dark), "step_histogram", params)


def one_step(picked: int, engine: int | None) -> None:
    """Key figures of the picked step of an engine, and its timeline or its kernels."""
    found = data.rows("step_list", **chosen.params("step_list", kind=None, step=picked, dp=engine))
    if not found:
        parts.empty(f"Step {picked} is not on this rank: choose another step or rank.")
        return
    row = found[0]
    of_engine = f" of engine {engine}" if len(engines) > 1 else ""
    parts.headline(
        [
            Figure(f"step {row.step}{of_engine}", units.ms(row.dur_ns), "ms", _load(row)),
            Figure("busy", units.percent(row.busy_share), "%", "of the step"),
            Figure("idle", units.ms(row.idle_ns), "ms", _starved(row)),
        ]
    )
    if len(engines) > 1 and chosen.dp is None:
        st.caption(ONE_ENGINE.format(engine=engine, n=len(engines)))
    label, place = choice.tab(SHOWN, list(TABS))
    with place:
        TABS[label](picked, engine, row.kind)


def of_step(picked: int, engine: int | None) -> list[tuple[str, dict[str, Value]]]:
    """What `one_step` asks, but for the kernels: whose kind of step has to be known first."""
    step: dict[str, Value] = {"step": picked, "dp": engine}
    questions = [("step_list", chosen.params("step_list", kind=None, **step))]
    if choice.asked(SHOWN) != KERNELS_TAB:
        questions.append(("timeline", chosen.params("timeline", **step, top=ONE_BY_ONE)))
    return questions


def with_step(picked: int) -> int | None:
    """The engine whose step is shown: the first that has it, unless one is chosen."""
    there = [engine.dp for engine in engines if picked in engine.steps]
    return chosen.dp if chosen.dp is not None or not there else there[0]


def on_the_device(picked: int, engine: int | None, _kind: str) -> None:
    """The timeline of an engine, of the whole step or a window of it."""
    key = f"window-{chosen.run}-{engine}-{picked}"
    params = chosen.params("timeline", step=picked, dp=engine, top=ONE_BY_ONE)
    frame = data.report("timeline", **params)
    if frame.empty:
        parts.empty("No activity of this step is in the database.")
        return
    span, is_part = picking.window(key, picked, int(frame["step_ns"].iloc[0]))
    if is_part:
        start, end = (round(ms * picking.MS) for ms in span)
        params = {**params, "from_ns": start, "to_ns": end}
        frame = data.report("timeline", **params)
    chart = f"timeline-{key}-{span}"
    picture = timeline.lanes(frame, picked, span, is_dark, chosen.phase, chosen.category)
    st.altair_chart(picture, key=chart, on_select=partial(picking.dragged, chart, picked))
    st.caption(timeline.told(frame))
    parts.computed("timeline", params)


def kernels(picked: int, engine: int | None, kind: str) -> None:
    """The kernels of the step, what takes most first."""
    params = chosen.params("breakdown", step=picked, by="kernel", kind=kind, dp=engine)
    frame = data.report("breakdown", **params)
    parts.table(frame[frame["row_kind"] == "work"], "breakdown", params, shown=KERNELS)


TABS = {"On the device": on_the_device, KERNELS_TAB: kernels}


def _load(row: SimpleNamespace) -> str:
    counts = ((row.n_reqs, "request"), (row.n_tokens, "token"))
    return ", ".join([row.kind, *(page.counted(n, what) for n, what in counts if n is not None)])


def _starved(row: SimpleNamespace) -> str:
    return "" if row.starved_ns is None else f"{units.ms(row.starved_ns)} ms nothing queued"


st.title("Step")
data.ahead((name, chosen.params(name)) for name in ("step_profile", "step_histogram"))
head = data.rows("breakdown_headline", **chosen.params("breakdown_headline", rank=None, step=None))
kind = head[0].kind if head else chosen.kind
there = picking.ordered(data.rows("step_list", **chosen.params("step_list", kind=kind, step=None)))
if there:
    number = picking.typical(there) if chosen.step is None else chosen.step
    engine = with_step(number)
    data.ahead(of_step(number, engine))
    left, right = st.columns([2, 1])
    with left:
        over_time(number)
    with right:
        spread()
    picking.step(there, number)
    one_step(number, engine)
else:
    parts.empty(
        f"{chosen.run}: no such steps with work on the device.",
        f"tracekit steps {quote(chosen.run)}",
    )
