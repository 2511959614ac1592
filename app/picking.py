"""Which step is looked at, and which part of it: by numbers, or by a click or drag on a chart."""

from collections.abc import Sequence
from types import SimpleNamespace

import streamlit as st

from tracekit.app import choice
from tracekit.app.charts import steps, timeline

STEP, PROFILE = "picked_step", "profile"
"""Keys of what picks a step: its number, and the chart to click on."""

WINDOW = "window"
"""What the address calls the part of a step that is looked at."""

MS = 1e6


def ordered(rows: Sequence[SimpleNamespace]) -> list[int]:
    """Numbers of the steps of `step_list` that have work on the device, the quickest first."""
    timed = [row for row in rows if row.dur_ns is not None]
    return [row.step for row in sorted(timed, key=lambda row: row.dur_ns)]


def typical(there: Sequence[int]) -> int:
    """The step of median duration, of steps in order of time."""
    return there[len(there) // 2]


def step(there: Sequence[int], picked: int) -> None:
    """What picks a step; `there` are those to pick from, the quickest first."""
    st.session_state[STEP] = picked
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(
            "Step",
            min_value=min(picked, *there),
            max_value=max(picked, *there),
            key=STEP,
            on_change=lambda: _pick(st.session_state[STEP]),
            width=160,
        )
        for label, number in (("Typical", typical(there)), ("Slowest", there[-1])):
            st.button(label, on_click=_pick, args=(number,))


def clicked() -> None:
    """Take the step of the bar that was clicked."""
    for point in st.session_state[PROFILE].selection[steps.PICKED]:
        _pick(int(point["first_step"]))


def _pick(step: int) -> None:
    """Keep the step in the address, without the window of another."""
    choice.keep("step", step)
    choice.keep(WINDOW, None)


def window(key: str, step: int, whole_ns: int) -> tuple[tuple[float, float], bool]:
    """Span of the step to look at, in ms, and whether that is a part of it; drawn as a slider."""
    whole = (0.0, whole_ns / MS)
    span = choice.known(WINDOW, "Window", lambda said: _span(said, step, whole[1])) or whole
    st.session_state[key] = span
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.slider(
            "Window, ms",
            *whole,
            key=key,
            step=whole[1] / 500,
            format="%.3f",
            on_change=lambda: _narrow(step, st.session_state[key]),
        )
        span = st.session_state[key]
        st.button("Whole step", on_click=choice.keep, args=(WINDOW, None), disabled=span == whole)
    return span, span != whole


def dragged(chart: str, step: int) -> None:
    """Make the span of the step that was dragged over in the chart the window."""
    span = st.session_state[chart].selection[timeline.WINDOW].get("start")
    if span:
        _narrow(step, (max(0.0, span[0]), span[1]))


def _narrow(step: int, span: tuple[float, float]) -> None:
    """Keep the window in the address: step, start and end in ms; and the step, for it to hold."""
    choice.keep("step", step)
    choice.keep(WINDOW, ":".join(str(number) for number in (step, *(round(ms, 6) for ms in span))))


def _span(said: str, step: int, whole_ms: float) -> tuple[float, float] | None:
    """The window that is asked for; None where there is none in this step."""
    try:
        number, start, end = map(float, said.split(":"))
    except ValueError:
        return None
    end = min(end, whole_ms)
    return (start, end) if number == step and 0 <= start < end else None
