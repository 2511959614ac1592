"""From the time of a token in one run to that in another, a bar for each part of the step."""

import json
from collections.abc import Sequence
from types import SimpleNamespace

import altair as alt
import pandas as pd

from tracekit import units
from tracekit.app.charts.rows import FIT, labels
from tracekit.cli import waterfall

MS = 1e6
"""Nanoseconds of an axis's millisecond."""

ROW = 25
"""Pixels of a bar; legend and axis come on top."""

WHOLE, LONGER, SAVED = "in all", "takes longer", "is saved"
HUES = {"light": ("#24539a", "#b53a00", "#00664b"), "dark": ("#4f86f0", "#ff7a3d", "#22b98a")}
"""Colours of these three: those of the printed report."""


def bars(
    rows: Sequence[SimpleNamespace], main: SimpleNamespace, sides: tuple[str, str], is_dark: bool
) -> alt.LayerChart:
    """Rows of the report `compare_waterfall`; `main` is theirs of `compare_headline`.

    The line across the last bar is the 95 % interval of its time.
    """
    drawn = pd.DataFrame([_bar(row, main, sides) for row in rows])
    drawn["place"] = range(len(drawn))
    interval = _interval(main, len(drawn) - 1)
    drawn["edge"] = drawn["high"].where(drawn["place"] < len(drawn) - 1, interval["high"].max())
    drawn["edge"] = drawn["edge"].fillna(drawn["high"])
    middle = drawn[["low", "high"]].max(axis=None) / 2
    drawn["is_left"] = (drawn["low"] + drawn["high"]) / 2 > middle
    of_token = main.basis == "token"
    base = alt.Chart(drawn).encode(
        y=alt.Y("place:O", title=None, axis=_names(list(drawn["part"]))),
        tooltip=[
            alt.Tooltip("part:N"),
            alt.Tooltip("said:N", title="change"),
            alt.Tooltip("step:N", title="in a step, ms"),
            alt.Tooltip("why:N"),
        ],
    )
    hues = HUES["dark" if is_dark else "light"]
    title = "time of an emitted token, ms" if of_token else "time of a step, ms"
    shown = base.mark_bar(height=ROW - 8).encode(
        x=alt.X("low:Q", title=title),
        x2=alt.X2("high:Q"),
        color=alt.Color(
            "what:N",
            title=None,
            scale=alt.Scale(domain=[WHOLE, LONGER, SAVED], range=list(hues)),
            legend=alt.Legend(orient="top"),
        ),
    )
    ink = "#e6e9ed" if is_dark else "#24292f"
    rule = alt.Chart(interval).mark_rule(color=ink, strokeWidth=2)
    ends = rule.encode(y=alt.Y("place:O"), x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    layers = [shown, *_words(base, ink), *([] if interval.empty else [ends])]
    return alt.LayerChart(layer=layers).properties(
        height=ROW * len(drawn),
        autosize=FIT,
        description=f"From {sides[0]} to {sides[1]}, part by part: {title}",
    )


def _words(base: alt.Chart, ink: str) -> list[alt.Chart]:
    """What stands beside each bar, on the side that has room."""
    right = base.mark_text(align="left", dx=6, color=ink, limit=520)
    left = base.mark_text(align="right", dx=-6, color=ink, limit=520)
    return [
        right.encode(x=alt.X("edge:Q"), text=alt.Text("text:N")).transform_filter("!datum.is_left"),
        left.encode(x=alt.X("low:Q"), text=alt.Text("text:N")).transform_filter("datum.is_left"),
    ]


def _names(parts: list[str]) -> alt.Axis:
    """Names of the bars, each in its place: two may be alike."""
    return labels(260, f"{json.dumps(parts)}[datum.value]")


def _bar(row: SimpleNamespace, main: SimpleNamespace, sides: tuple[str, str]) -> dict[str, object]:
    is_whole = row.row_kind in ("base", "other")
    low, high = sorted((row.from_ns / MS, row.to_ns / MS))
    said = units.ms(row.change_ns) if is_whole else units.ms_change(row.change_ns)
    why = _why(row, main)
    return {
        "part": name(row, sides),
        "low": low,
        "high": high,
        "what": WHOLE if is_whole else LONGER if row.change_ns > 0 else SAVED,
        "said": f"{said} ms",
        "text": " · ".join(filter(None, (f"{said} ms", why))),
        "why": why,
        "step": waterfall.arrow(units.ms(row.base_step_ns), units.ms(row.other_step_ns)),
    }


def name(row: SimpleNamespace, sides: tuple[str, str]) -> str:
    """What a bar is called."""
    if row.row_kind in ("base", "other"):
        return sides[row.row_kind == "other"]
    return "target passes" if row.row_kind == "tokens" else waterfall.part(row)


def _why(row: SimpleNamespace, main: SimpleNamespace) -> str:
    if row.row_kind == "tokens":
        before, after = main.base_tokens_per_step, main.other_tokens_per_step
        return f"{waterfall.arrow(f'{before:.2f}', f'{after:.2f}')} tokens of a pass"
    return ", ".join(waterfall.causes(row))


def _interval(main: SimpleNamespace, place: int) -> pd.DataFrame:
    """The range of the last bar; no row where there is none."""
    low, high = main.other_ns_per_token_low, main.other_ns_per_token_high
    ends = [] if low is None else [(place, low / MS, high / MS)]
    return pd.DataFrame(ends, columns=["place", "low", "high"])
