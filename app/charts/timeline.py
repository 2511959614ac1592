"""What ran on the device: streams as lanes, a bar for each activity."""

import altair as alt
import pandas as pd

from tracekit import colors
from tracekit.app.charts import palette
from tracekit.app.charts.rows import FIT, labels, packed

MS = 1e6
US = 1e3
"""Nanoseconds of an axis's millisecond, and of a tooltip's microsecond."""

WINDOW = "window"
"""Name of the chart's selection: the span of `start` in ms that was dragged over."""

LANE = 20
"""Pixels of a lane; legend and axis come on top, whatever rows they take."""

NAME = 120
"""Letters of a name that a tooltip holds."""

FULL, BLOCK, DIM = 1.0, 0.55, 0.2
"""Opacity of an activity, of short ones as a block, and of what is not looked at."""

SIDE = "split(datum.label, ': ')[1] || datum.label"
"""Label of a lane: a stream beside the main one leaves the rank out, which stands above."""


def lanes(
    frame: pd.DataFrame,
    step: int,
    window: tuple[float, float],
    is_dark: bool,
    phase: str | None = None,
    category: str | None = None,
) -> alt.Chart:
    """Rows of the report `timeline`; `window` is the span of the axis in ms.

    What is not of the step, or not of the phase or category asked for, is dimmed.
    """
    place = ["dp", "rank", "is_side", "stream"]
    drawn = _drawn(frame).assign(opacity=_opacity(frame, step, phase, category))
    order = list(dict.fromkeys(drawn.sort_values(place)["lane"]))
    axis = labels(200, SIDE)
    span = alt.Scale(domain=window, nice=False)
    picture: alt.Chart = (
        alt.Chart(
            packed(drawn.drop(columns=place)),
            height=LANE * len(order),
            autosize=FIT,
            description=f"What runs on the device in step {step}, by rank and stream",
        )
        .mark_bar(height=LANE - 4, clip=True, aria=False)  # else words are made for each bar
        .encode(
            x=alt.X("start:Q", title="time from the start of the step, ms", scale=span),
            x2=alt.X2("end:Q"),
            y=alt.Y("lane:N", title=None, sort=order, axis=axis),
            color=alt.Color(
                "group:N",
                title=None,
                scale=palette.present(palette.groups(is_dark), drawn["group"]),
                legend=alt.Legend(orient="top", columns=5),
            ),
            opacity=alt.Opacity("opacity:Q", scale=None),
            tooltip=[
                alt.Tooltip("name:N"),
                alt.Tooltip("class:N", title="category"),
                alt.Tooltip("phase:N"),
                alt.Tooltip("step:N"),
                alt.Tooltip("dur:Q", title="duration, us", format=",.2f"),
                alt.Tooltip("start:Q", title="start, ms", format=",.4f"),
                alt.Tooltip("queued:N", title="launched"),
                alt.Tooltip("op:N", title="by"),
            ],
        )
        .add_params(alt.selection_interval(name=WINDOW, encodings=["x"]))
    )
    return picture


def told(frame: pd.DataFrame) -> str:
    """What the chart holds, in words: what is drawn by itself, and what in blocks."""
    blocks = frame[frame["n"] > 1]
    n = 0 if frame.empty else int(frame["n_window"].iloc[0])
    words = f"{n:,} activities in this window, {len(frame) - len(blocks):,} of them one by one"
    rest = f", {int(blocks['n'].sum()):,} short ones as {len(blocks):,} paler blocks"
    return f"{words}{'' if blocks.empty else rest}. Drag over the lanes to zoom in."


def _drawn(frame: pd.DataFrame) -> pd.DataFrame:
    is_side = ~frame["is_main"].fillna(True).astype(bool)
    names = frame["name"].astype("string").str.slice(0, NAME)
    return pd.DataFrame(
        {
            "dp": frame["dp"],
            "rank": frame["rank"],
            "is_side": is_side,
            "stream": frame["stream"],
            "lane": _lane(frame, is_side),
            "start": frame["start_ns"] / MS,
            "end": (frame["start_ns"] + frame["dur_ns"]) / MS,
            "dur": frame["dur_ns"] / US,
            "name": names.fillna(frame["n"].astype("string") + " short activities"),
            "group": frame["category"].map(lambda category: colors.group_of(category).name),
            "class": frame["category"].str.cat(frame["impl"].astype("string"), " ", "").str.strip(),
            "phase": frame["phase"],
            "step": frame["step"].astype("string").fillna("-"),
            "queued": [
                "-" if pd.isna(ns) else f"{ns / US:,.1f} us before" for ns in frame["queued_ns"]
            ],
            "op": frame["op"].astype("string").fillna("-"),
        }
    )


def _opacity(frame: pd.DataFrame, step: int, phase: str | None, category: str | None) -> pd.Series:
    is_looked_at = frame["step"].fillna(-1) == step
    for column, asked in (("phase", phase), ("category", category)):
        if asked is not None:
            is_looked_at &= frame[column] == asked
    return pd.Series(FULL, frame.index).mask(frame["n"] > 1, BLOCK).where(is_looked_at, DIM)


def _lane(frame: pd.DataFrame, is_side: pd.Series) -> pd.Series:
    rank = "rank " + frame["rank"].astype("string").fillna("?")
    stream = "stream " + frame["stream"].astype("string").fillna("?")
    return (rank + ", " + stream).mask(is_side, rank + ": " + stream)
