"""What drafts cost and give: phases of a step, accepted tokens, other numbers of drafted tokens."""

import altair as alt
import pandas as pd

from tracekit import colors
from tracekit.app.charts import palette
from tracekit.app.charts.rows import FIT, labels
from tracekit.app.charts.steps import CLOSING, QUIET

MS = 1e6
"""Nanoseconds of an axis's millisecond."""

ROW, STRIP, HEIGHT = 48, 9, 260
"""Pixels of a bar, of the line of AllReduce below it, and of a chart of K."""

STEP, TOKEN = "a step", "an emitted token"
ACCEPTED, EVEN = "accepted", "break-even"

BEHIND, ASSUMED = 0.55, 0.45
"""Opacity of a K that is not picked, and of a rate that is assumed."""

BY_K = (
    *("k", "speedup", "speedup_low", "speedup_high", "tokens_per_step"),
    *("tokens_per_s", "tokens_per_s_low", "tokens_per_s_high"),
)
"""Columns of `whatif` that a chart of K has; each of its layers is sent with all of them."""


def phases(frame: pd.DataFrame, is_dark: bool) -> alt.LayerChart:
    """Bars of the report `spec_phases`: a step, and an emitted token, by phase.

    Below a phase lies the part of it in which an AllReduce runs.
    """
    parts = _parts(frame)
    scale = palette.present(_scale(is_dark), parts["part"])
    bars = (
        alt.Chart(parts)
        .mark_bar(height=ROW - 3 * STRIP)
        .encode(
            x=alt.X("start:Q", title="time, ms"),
            x2=alt.X2("end:Q"),
            y=alt.Y("of:N", title=None, sort=[STEP, TOKEN], axis=labels(200)),
            color=alt.Color(
                "part:N", title=None, scale=scale, legend=alt.Legend(orient="top", columns=9)
            ),
            tooltip=_TIMES,
        )
    )
    calls = parts[parts["all_reduce"] > 0]
    calls = calls.assign(end=calls["start"] + calls["all_reduce"])
    strips = (
        alt.Chart(calls)
        .mark_bar(height=STRIP - 3, yOffset=ROW / 2 - STRIP + 2)
        .encode(
            x=alt.X("start:Q"),
            x2=alt.X2("end:Q"),
            y=alt.Y("of:N", sort=[STEP, TOKEN]),
            color=alt.value(_hue("all_reduce", is_dark)),
            tooltip=_TIMES,
        )
    )
    return alt.LayerChart(layer=[bars, strips]).properties(
        height=ROW * parts["of"].nunique(),
        autosize=FIT,
        description="Phases of a step, and of an emitted token",
    )


_TIMES = [
    alt.Tooltip("of:N", title="of"),
    alt.Tooltip("part:N", title="phase"),
    alt.Tooltip("ms:Q", title="ms", format=",.3f"),
    alt.Tooltip("share:Q", title="of the step", format=".1%"),
    alt.Tooltip("all_reduce:Q", title="AllReduce, ms", format=",.3f"),
]


def _parts(frame: pd.DataFrame) -> pd.DataFrame:
    """Parts of both bars, laid end to end; a token gets of each what it gets of the whole."""
    rows = frame[~frame["row_kind"].isin(("step", "host"))]
    found = pd.DataFrame(
        {
            "part": rows["phase"].fillna(rows["row_kind"].map(CLOSING)),
            STEP: rows["busy_ns"].astype("Float64") / MS,
            TOKEN: rows["ns_per_token"].astype("Float64") / MS,
            "share": rows["share_of_step"],
            "calls": (rows["all_reduce_ns"] / rows["busy_ns"]).astype("Float64").fillna(0),
        }
    )
    long = found.melt(["part", "share", "calls"], [STEP, TOKEN], "of", "ms").dropna(subset="ms")
    long = long[long["ms"] != 0]
    long["ms"] = long["ms"].astype(float)
    long["end"] = long.groupby("of")["ms"].cumsum()
    long["start"] = long["end"] - long["ms"]
    long["all_reduce"] = (long["calls"] * long["ms"]).astype(float)
    return long.drop(columns="calls")


def _scale(is_dark: bool) -> alt.Scale:
    scale = palette.phases(is_dark)
    quiet = QUIET["dark" if is_dark else "light"]
    return alt.Scale(domain=[*scale.domain, *CLOSING.values()], range=[*scale.range, *quiet])


def _hue(category: str, is_dark: bool) -> str:
    group = colors.group_of(category)
    return group.dark if is_dark else group.light


def accepted(frame: pd.DataFrame, is_dark: bool) -> alt.LayerChart:
    """Bars of the report `spec`: of how many drafts the token at a position was accepted."""
    rows = frame.assign(
        said=[
            "" if pd.isna(row.drafts) else f"{row.accepted:,} of {row.drafts:,}"
            for row in frame.itertuples()
        ]
    )
    base = alt.Chart(rows).encode(
        x=alt.X("position:O", title="position in the draft", axis=alt.Axis(labelAngle=0)),
        y=alt.Y(
            "acceptance_rate:Q",
            title="accepted, % of drafts",
            scale=alt.Scale(domain=(0, 1)),
            axis=alt.Axis(format="%"),
        ),
        tooltip=[
            alt.Tooltip("position:O"),
            alt.Tooltip("acceptance_rate:Q", title="of drafts", format=".1%"),
            alt.Tooltip("conditional_rate:Q", title="given the one before", format=".1%"),
            alt.Tooltip("accepted:Q", format=","),
            alt.Tooltip("drafts:Q", format=","),
        ],
    )
    bars = base.mark_bar(color=_phase("draft", is_dark), size=44)
    words = base.mark_text(dy=-8, color=_ink(is_dark)).encode(text=alt.Text("said:N"))
    return alt.LayerChart(layer=[bars, words]).properties(
        height=HEIGHT, description="Part of the drafts that is accepted, by position"
    )


def gains(frame: pd.DataFrame, k: int, is_dark: bool) -> alt.LayerChart:
    """Speed-up of the report `whatif` by K, with its range; `k` is brought forward."""
    return _by_k(frame, "speedup", "speed-up, times", k, 1.0, is_dark)


def rates(frame: pd.DataFrame, k: int, is_dark: bool) -> alt.LayerChart:
    """Tokens per second of the report `whatif` by K, with their range; `k` brought forward.

    The rule is the rate without drafts.
    """
    base = float(frame.loc[frame["k"] == 0, "tokens_per_s"].iloc[0])
    return _by_k(frame, "tokens_per_s", "tokens/s of all requests", k, base, is_dark)


def _by_k(
    frame: pd.DataFrame, column: str, title: str, k: int, base: float, is_dark: bool
) -> alt.LayerChart:
    rows = frame.loc[frame["k"] > 0, list(BY_K)]
    rows = rows.assign(opacity=(rows["k"] == k).map({True: 1.0, False: BEHIND}))
    shown = alt.Chart(rows).encode(
        x=alt.X("k:O", title="drafted tokens K", axis=alt.Axis(labelAngle=0)),
        y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=True)),
        opacity=alt.Opacity("opacity:Q", scale=None),
        tooltip=[
            alt.Tooltip("k:O", title="K"),
            alt.Tooltip("speedup:Q", title="speed-up", format=",.2f"),
            alt.Tooltip("speedup_low:Q", title="from", format=",.2f"),
            alt.Tooltip("speedup_high:Q", title="to", format=",.2f"),
            alt.Tooltip("tokens_per_s:Q", title="tokens/s", format=",.0f"),
            alt.Tooltip("tokens_per_step:Q", title="tokens of a step", format=",.2f"),
        ],
    )
    color = _phase("verify", is_dark)
    ranges = shown.mark_rule(color=color, strokeWidth=3).encode(
        y=alt.Y(f"{column}_low:Q", title=title), y2=alt.Y2(f"{column}_high:Q")
    )
    points = shown.mark_point(color=color, filled=True, size=110)
    picked = shown.transform_filter(f"datum.k === {k}")
    words = picked.mark_text(dy=10, color=_ink(is_dark), fontWeight="bold").encode(
        y=alt.Y(f"{column}_low:Q"),
        text=alt.Text(f"{column}:Q", format=",.2f" if column == "speedup" else ",.0f"),
    )
    rule = alt.Chart(pd.DataFrame({"base": [base]})).mark_rule(
        color=_ink(is_dark), strokeDash=[5, 4]
    )
    return alt.LayerChart(layer=[rule.encode(y=alt.Y("base:Q")), ranges, points, words]).properties(
        height=HEIGHT, description=f"{title}, by the number of drafted tokens"
    )


def break_even(frame: pd.DataFrame, rates: pd.DataFrame, is_dark: bool) -> alt.LayerChart:
    """Acceptance from which drafts pay, of the report `whatif`, beside what is accepted.

    `rates` has `k`, a position, `rate`, accepted at it given the one before, and how that is
    `known`: assumed is paler. A K that cannot pay has no mark.
    """
    needed = frame[frame["k"] > 0].rename(columns={"break_even_acceptance": "rate"})
    needed = needed[["k", "rate"]].assign(what=EVEN, known="modelled")
    rows = pd.concat([needed, rates.assign(what=ACCEPTED)]).dropna(subset="rate")
    rows["opacity"] = (rows["known"] == "assumed").map({True: ASSUMED, False: 1.0})
    base = alt.Chart(rows).encode(
        x=alt.X("k:O", title="drafted tokens K; position", axis=alt.Axis(labelAngle=0)),
        y=alt.Y(
            "rate:Q",
            title="accepted, % given the one before",
            scale=alt.Scale(domain=(0, 1)),
            axis=alt.Axis(format="%"),
        ),
        color=alt.Color(
            "what:N",
            title=None,
            scale=alt.Scale(
                domain=[ACCEPTED, EVEN], range=[_phase("draft", is_dark), _phase("verify", is_dark)]
            ),
            legend=alt.Legend(orient="top", labelLimit=260),
        ),
        tooltip=[
            alt.Tooltip("what:N", title="what"),
            alt.Tooltip("k:O", title="K or position"),
            alt.Tooltip("rate:Q", title="rate", format=".1%"),
            alt.Tooltip("known:N"),
        ],
    )
    lines = base.transform_filter(alt.datum.what == EVEN).mark_line(strokeWidth=2)
    points = base.mark_point(filled=True, size=90).encode(
        opacity=alt.Opacity("opacity:Q", scale=None)
    )
    return alt.LayerChart(layer=[lines, points]).properties(
        height=HEIGHT, description="Acceptance by position, and from which acceptance drafts pay"
    )


def _phase(name: str, is_dark: bool) -> str:
    scale = palette.phases(is_dark)
    color: str = scale.range[scale.domain.index(name)]
    return color


def _ink(is_dark: bool) -> str:
    return "#e6e9ed" if is_dark else "#24292f"
