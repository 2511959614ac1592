"""Collectives: how size makes time, and who waits for whom."""

import altair as alt
import pandas as pd

from tracekit import colors, units
from tracekit.app.charts import palette
from tracekit.app.charts.rows import FIT, labels

MS = 1e6
US = 1e3
"""Nanoseconds of an axis's millisecond and microsecond."""

ROW, PLOT = 26, 380
"""Pixels of a row, axes and legend apart, and of a chart without rows."""

SHARPNESS = {"transfer": 1.0, "waiting": 0.45, "not matched": 0.15}
"""Opacity of the parts of a collective's time: each in the colour of its category."""

LABELS = labels(220)
"""Of rows."""

SIZE = (
    "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB'"
    " : datum.value >= 1048576 ? datum.value / 1048576 + ' MiB'"
    " : datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)
"""Label of a size on an axis whose ticks are powers of two."""

MEASURES = {
    "waiting": ("waiting_ns", "what the rank waits in a step, ms"),
    "waited for": ("cost_ns", "what the others wait for the rank in a step, ms"),
}
"""What the map of ranks and steps can show: column of `comm_rank_steps`, and its meaning."""


def sizes(frame: pd.DataFrame, curve: pd.DataFrame, is_dark: bool) -> alt.LayerChart:
    """Rows of `comms` by message size, over the curve of `bench_curve` where there is one.

    A point is the transfer, the line above it leads to the whole call with its waiting, the tick
    below is the bound of NCCL's model.
    """
    calls = _calls(frame)
    measured = _measured(curve, set(frame["category"]))
    limits = _powers([*calls["bytes"], *measured["bytes"]])
    axis = alt.Axis(labelExpr=SIZE, values=limits, labelOverlap=True)
    powers = alt.Scale(type="log", base=2, domain=[limits[0], limits[-1]], nice=False)
    size = alt.X("bytes:Q", title="message size", axis=axis, scale=powers)
    color = alt.Color(
        "group:N",
        title=None,
        scale=palette.present(palette.groups(is_dark), [*calls["group"], *measured["group"]]),
        legend=alt.Legend(orient="top", symbolOpacity=1),
    )
    y = alt.Y("us:Q", title="time of a call, us", scale=alt.Scale(type="log"))
    points = alt.Chart(calls).encode(x=size, color=color)
    layers = [
        points.mark_rule(strokeWidth=2, opacity=0.5).encode(y=y, y2=alt.Y2("whole:Q")),
        points.mark_point(size=90, filled=True, opacity=1).encode(
            y=y,
            shape=alt.Shape("impl:N", title=None, legend=_legend(palette.ink(is_dark))),
            tooltip=CALL,
        ),
    ]
    if calls["bound"].notna().any():
        layers.append(points.mark_tick(thickness=3, width=22).encode(y=alt.Y("bound:Q")))
    if not measured.empty:
        line = alt.Chart(measured).mark_line(point=True, strokeDash=[5, 3], opacity=0.8)
        layers.append(
            line.encode(x=size, y=y, color=color, detail=alt.Detail("curve:N"), tooltip=CURVE)
        )
    return alt.LayerChart(layer=layers).properties(
        height=PLOT, description="Time of a call by message size, with its bound"
    )


CURVE = [
    alt.Tooltip("curve:N", title="measured"),
    alt.Tooltip("size:N", title="message"),
    alt.Tooltip("us:Q", title="time, us", format=",.1f"),
    alt.Tooltip("busbw:Q", title="bus bandwidth, GB/s", format=",.3~g"),
]
CALL = [
    alt.Tooltip("category:N"),
    alt.Tooltip("impl:N", title="implementation"),
    alt.Tooltip("phase:N"),
    alt.Tooltip("size:N", title="message"),
    alt.Tooltip("calls:Q", title="calls in a step", format=",.1f"),
    alt.Tooltip("us:Q", title="transfer, us", format=",.1f"),
    alt.Tooltip("whole:Q", title="call, us", format=",.1f"),
    alt.Tooltip("bound:Q", title="NCCL's bound, us", format=",.1f"),
    alt.Tooltip("measured:Q", title="calibration, us", format=",.1f"),
    alt.Tooltip("busbw_gb_per_s:Q", title="bus bandwidth, GB/s", format=",.3~g"),
]


def _calls(frame: pd.DataFrame) -> pd.DataFrame:
    found = frame[frame["bytes"].notna()]
    whole = found["dur_p50_ns"].astype(float) / US
    return found[["category", "phase", "calls", "busbw_gb_per_s"]].assign(
        bytes=found["bytes"].astype(float),
        size=found["bytes"].map(units.size),
        impl=found["impl"].astype("string").fillna("-"),
        group=found["category"].map(_group),
        us=(found["transfer_p50_ns"].astype(float) / US).fillna(whole),
        whole=whole,
        bound=found["model_ns"].astype(float) / US,
        measured=found["measured_ns"].astype(float) / US,
    )


def _measured(curve: pd.DataFrame, categories: set[str]) -> pd.DataFrame:
    """Points of the curve of these collectives, without those of a rank that was delayed."""
    found = curve[curve["category"].isin(categories) & curve["delayed_rank"].isna()]
    return pd.DataFrame(
        {
            "bytes": found["bytes"].astype(float),
            "size": found["bytes"].map(units.size),
            "us": found["time_ns"].astype(float) / US,
            "group": found["category"].map(_group),
            "curve": found["category"] + ", " + found["mode"],
            "busbw": found["busbw_gb_per_s"],
        }
    )


def _legend(color: str) -> alt.Legend:
    """Of shapes or opacities: their signs have no colour of their own."""
    return alt.Legend(orient="top", columns=4, symbolFillColor=color, symbolStrokeColor=color)


def _group(category: str) -> str:
    return colors.group_of(category).name


def _powers(sizes: list[float]) -> list[int]:
    """Powers of four around the sizes."""
    low, high = min(sizes), max(sizes)
    found = [4**n for n in range(24)]
    return [n for n in found if low / 4 < n < high * 16]


def split(frame: pd.DataFrame, is_dark: bool) -> alt.Chart:
    """Rows of `comm_waiting` with a phase: the time of each category, transfer before waiting."""
    columns = {"transfer_ns": "transfer", "waiting_ns": "waiting", "unmatched_ns": "not matched"}
    parts = frame.melt(["phase", "category", "busy_ns"], list(columns), "column", "ns")
    parts["part"] = parts["column"].map(columns)
    parts["place"] = parts["part"].map(list(columns.values()).index)
    parts["row"] = parts["phase"] + " " + parts["category"]
    parts["group"] = parts["category"].map(_group)
    parts["ms"] = parts["ns"].astype(float) / MS
    sharpness = alt.Scale(domain=list(SHARPNESS), range=list(SHARPNESS.values()))
    scale = palette.present(palette.groups(is_dark), parts["group"])
    drawn = parts[parts["ms"] > 0][["row", "phase", "category", "part", "place", "group", "ms"]]
    picture: alt.Chart = (
        alt.Chart(
            drawn,
            height=ROW * drawn["row"].nunique(),
            autosize=FIT,
            description="Time of collectives in a step, by phase and category",
        )
        .mark_bar()
        .encode(
            x=alt.X("ms:Q", title="time in a step, ms"),
            y=alt.Y("row:N", title=None, sort=None, axis=LABELS),
            color=alt.Color(
                "group:N",
                title=None,
                scale=scale,
                legend=None,
            ),
            opacity=alt.Opacity(
                "part:O",
                title=None,
                scale=palette.present(sharpness, drawn["part"]),
                legend=_legend(scale.range[0]),  # as the first rows are
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("phase:N"),
                alt.Tooltip("category:N"),
                alt.Tooltip("part:N"),
                alt.Tooltip("ms:Q", title="ms in a step", format=",.3f"),
            ],
        )
    )
    return picture


def rank_steps(frame: pd.DataFrame, measure: str, is_dark: bool) -> alt.Chart:
    """Map of the report `comm_rank_steps`; `measure` is one of MEASURES."""
    column, meaning = MEASURES[measure]
    cells = frame.assign(
        ms=frame[column].astype(float) / MS,
        row=_rank(frame),
        steps=frame["first_step"].astype(str).str.cat(frame["last_step"].astype(str), " to "),
    )
    names = ["row", "first_step", "steps", "ms", "n_calls", "n_last", "n_steps"]
    group = colors.group_of("all_reduce")
    shades = ("#2b2320", group.dark) if is_dark else ("#fbf1ea", group.light)
    picture: alt.Chart = (
        alt.Chart(
            cells[names],
            height=ROW * cells["row"].nunique(),
            autosize=FIT,
            description=f"Map of ranks and steps: {meaning}",
        )
        .mark_rect(aria=False)  # else words are made for each cell
        .encode(
            x=alt.X("first_step:O", title="step", axis=alt.Axis(labelOverlap=True, labelAngle=0)),
            y=alt.Y("row:N", title=None, sort=list(cells["row"].unique()), axis=LABELS),
            color=alt.Color(
                "ms:Q",
                title=meaning,
                scale=alt.Scale(domainMin=0, range=list(shades)),
                legend=alt.Legend(orient="top", titleLimit=400, gradientLength=300),
            ),
            tooltip=[
                alt.Tooltip("row:N", title="rank"),
                alt.Tooltip("steps:N", title="steps"),
                alt.Tooltip("ms:Q", title=f"{measure}, ms in a step", format=",.3f"),
                alt.Tooltip("n_last:Q", title="last in"),
                alt.Tooltip("n_calls:Q", title="of calls"),
            ],
        )
    )
    return picture


def last(frame: pd.DataFrame, is_dark: bool) -> alt.LayerChart:
    """Rows of `comm_ranks`: what the others wait for each rank, and how often it is last."""
    ordered = frame.sort_values(["dp", "rank"])
    bars = pd.DataFrame(
        {
            "row": _rank(ordered),
            "ms": ordered["cost_ns"].fillna(0).astype(float) / MS,
            "share": ordered["last_share"],
            "said": "last in " + ordered["last_share"].map(units.percent) + " % of its calls",
        }
    )
    group = colors.group_of("all_reduce")
    base = alt.Chart(bars).encode(
        x=alt.X("ms:Q", title="what the others wait for it in a step, ms"),
        y=alt.Y("row:N", title=None, sort=list(bars["row"]), axis=LABELS),
        tooltip=[
            alt.Tooltip("row:N", title="rank"),
            alt.Tooltip("ms:Q", title="the others wait, ms in a step", format=",.3f"),
            alt.Tooltip("share:Q", title="last in", format=".1%"),
        ],
    )
    words = base.mark_text(align="left", dx=6, color=palette.ink(is_dark)).encode(
        text=alt.Text("said:N")
    )
    shown = base.mark_bar(color=group.dark if is_dark else group.light, height=ROW - 8)
    return alt.LayerChart(layer=[shown, words]).properties(
        height=ROW * len(bars),
        autosize=FIT,
        description="What the others wait for each rank in a step, and how often it is last",
    )


def _rank(frame: pd.DataFrame) -> pd.Series:
    rank = frame["rank"].astype("string").fillna("?")
    has_engines = frame["dp"].nunique() > 1
    return "rank " + (frame["dp"].astype("string") + "." + rank if has_engines else rank)
