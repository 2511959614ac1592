"""Steps over time: what fills each, and how their times are spread."""

import altair as alt
import pandas as pd

from tracekit import colors
from tracekit.app.charts import palette
from tracekit.app.charts.rows import packed

HEIGHT = 360
"""Pixels of a chart with its legend and axes."""

MS = 1e6
"""Nanoseconds of an axis's millisecond."""

CLOSING = {
    "overlap": "overlap",
    "rest": "rest of the step",
    "wait_for_work": "waiting for work",
    "idle": "idle",
}
"""How the rows read that close a step."""

QUIET = {
    "light": ("#5c6570", "#ccd2d9", "#e6e9ed", "#ccd2d9"),
    "dark": ("#b9c0c9", "#3c434c", "#262b31", "#3c434c"),
}
"""Colours of these rows, in their order: no category has one of them."""

BEHIND = 0.75
"""Opacity of the bars that are not picked."""

PICKED = "step"
"""Name of the chart's selection, which holds the first step of the bar that was clicked."""


def profile(frame: pd.DataFrame, by: str, picked: int, is_dark: bool) -> alt.Chart:
    """Stacked bars of the report `step_profile`, the step `picked` brought forward.

    `by` is phase or category: what a colour stands for.
    """
    parts = _parts(frame, by)
    scale = palette.present(_scale(by, is_dark), parts["part"])
    parts["place"] = parts["part"].map({part: n for n, part in enumerate(scale.domain)})
    is_picked = (parts["first_step"] <= picked) & (picked <= parts["last_step"])
    parts["opacity"] = is_picked.map({True: 1.0, False: BEHIND})
    picture: alt.Chart = (
        alt.Chart(packed(parts), height=HEIGHT, description=f"Time in each step, by {by}")
        .mark_bar(aria=False)  # else words are made for each part of a bar
        .encode(
            x=alt.X("first_step:O", title="step", axis=_steps_axis(picked)),
            y=alt.Y("ms:Q", title="time in a step, ms"),
            color=alt.Color(
                "part:N",
                title=None,
                scale=scale,
                legend=alt.Legend(orient="top", columns=4),
            ),
            order=alt.Order("place:Q"),
            opacity=alt.Opacity("opacity:Q", scale=None),
            tooltip=[
                alt.Tooltip("steps:N", title="step"),
                alt.Tooltip("phase:N"),
                alt.Tooltip("what:N", title="category"),
                alt.Tooltip("ms:Q", title="ms", format=",.3f"),
                alt.Tooltip("share_of_step:Q", title="of the step", format=".1%"),
            ],
        )
        .add_params(alt.selection_point(name=PICKED, fields=["first_step"], on="click"))
    )
    return picture


def _steps_axis(picked: int) -> alt.Axis:
    weight = alt.condition(f"datum.value === {picked}", alt.value("bold"), alt.value("normal"))
    return alt.Axis(labelOverlap=True, labelAngle=0, labelFontWeight=weight)


def _parts(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Rows to draw: `part` is what the legend names."""
    found = frame[frame["busy_ns"] != 0].copy()
    closing = found["row_kind"].map(CLOSING)
    names = found["category"].map(lambda category: colors.group_of(category).name, "ignore")
    found["part"] = closing.fillna(names if by == "category" else found["phase"])
    found["what"] = closing.fillna(found["category"])
    found["ms"] = found["busy_ns"] / MS
    first, last = found["first_step"].astype(str), found["last_step"].astype(str)
    found["steps"] = first.where(first == last, first + " to " + last)
    return found[
        ["first_step", "last_step", "steps", "phase", "what", "part", "ms", "share_of_step"]
    ]


def _scale(by: str, is_dark: bool) -> alt.Scale:
    """Colours of what `by` names, in the order of the legend, then of what closes a step."""
    scale = palette.groups(is_dark) if by == "category" else palette.phases(is_dark)
    quiet = QUIET["dark" if is_dark else "light"]
    return alt.Scale(domain=[*scale.domain, *CLOSING.values()], range=[*scale.range, *quiet])


def spread(frame: pd.DataFrame, is_dark: bool) -> alt.Chart:
    """Bars of the report `step_histogram`: how many steps take how long."""
    width = (frame["high_ns"] - frame["low_ns"]).min()
    ends = frame["high_ns"].fillna(frame["low_ns"] + width)
    spans = pd.DataFrame(
        {
            "low": frame["low_ns"].astype(float) / MS,
            "high": ends.astype(float) / MS,
            "n": frame["n"],
            "till": ["no end" if pd.isna(ns) else f"{ns / MS:,.3f}" for ns in frame["high_ns"]],
        }
    )
    color = palette.phases(is_dark).range[1]
    picture: alt.Chart = (
        alt.Chart(spans, height=HEIGHT, description="How many steps take how long")
        .mark_bar(color=color, binSpacing=1)
        .encode(
            x=alt.X("low:Q", bin="binned", title="time of a step, ms", scale=alt.Scale(zero=False)),
            x2=alt.X2("high:Q"),
            y=alt.Y("n:Q", title="steps", axis=alt.Axis(tickMinStep=1)),
            tooltip=[
                alt.Tooltip("low:Q", title="from, ms", format=",.3f"),
                alt.Tooltip("till:N", title="to, ms"),
                alt.Tooltip("n:Q", title="steps"),
            ],
        )
    )
    return picture
