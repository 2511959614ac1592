"""Compare: which of two runs is faster, how certain that is, and what makes the difference."""

from collections.abc import Callable
from shlex import quote
from types import SimpleNamespace

import streamlit as st

from tracekit import units
from tracekit.app import choice, data, pairs, parts, repeats, theme
from tracekit.app.charts import waterfall
from tracekit.cli import compare_page
from tracekit.queries.header import Value
from tracekit.report.comparison import FOLD
from tracekit.report.document import Figure

KERNELS = (
    *("change", "phase", "category", "base_step_ns", "other_step_ns", "change_ns"),
    *("base_calls", "other_calls", "name", "impl", "base_bytes", "other_bytes"),
)
BATCHES = (
    *("batch", "base_steps", "other_steps", "base_step_p50_ns", "other_step_p50_ns"),
    *("base_ns_per_token", "other_ns_per_token", "speedup", "speedup_low", "speedup_high"),
    "verdict",
)
CONTEXT = ("fact", "base", "other", "verdict")
REQUESTS = "Requests of a step"
HEIGHT = 420
"""Pixels of the table of kernels."""

READING = (
    "Bars add up to the difference exactly. Target passes: what the base would save if its own "
    "step gave as many tokens. The line across the last bar is the 95\u00a0% interval of its time. "
    "Behind a change: what is known of its cause."
)

chosen = choice.current()


def compare(bases: list[str], others: list[str]) -> None:
    """The two side by side, each a run or repeats of one, where they may be compared."""
    base = parts.named(compare_page.side(bases, "base"))
    other = parts.named(compare_page.side(others, "other"))
    st.subheader(parts.escaped(f"{other} against {base}"))
    sides: dict[str, Value] = {"base": bases, "other": others}
    context = data.rows("compare_context", **sides)
    refused = [row for row in context if row.verdict == "differs" and row.effect == "refused"]
    rows = data.rows("compare_headline", **chosen.params("compare_headline", **sides))
    if refused:
        told = ", ".join(compare_page.difference(row) for row in refused)
        st.error(parts.escaped(f"Not comparable: {told}. Choose another run to compare with."))
    elif not rows:
        parts.empty(
            f"{base} and {other}: no such step that both have, by its kind and the number of "
            "requests in it.",
            f"tracekit steps {quote(bases[0])}",
        )
    else:
        steps(rows, sides, (base, other))
    facts(context, sides)


def steps(rows: list[SimpleNamespace], sides: dict[str, Value], names: tuple[str, str]) -> None:
    """Steps of one load: the verdict, the waterfall and the kernels."""
    row = _load(rows)
    first, *more = compare_page.sentences(row, names)
    st.markdown(f"**{parts.escaped(first)}** {parts.escaped(' '.join(more))}")
    parts.headline(_figures(row))
    params = chosen.params("compare_headline", **sides)
    if len(rows) > 1:
        parts.table(data.report("compare_headline", **params), "compare_headline", params, BATCHES)
    else:
        parts.computed("compare_headline", params)
    bars({**sides, "batch": row.batch}, row, names)
    kernels({**sides, "batch": row.batch})


def _load(rows: list[SimpleNamespace]) -> SimpleNamespace:
    """The row of the batch size that is asked for, else of the main one."""
    found = {str(row.batch): row for row in rows}
    main = next(str(row.batch) for row in rows if row.is_main)
    asked = choice.known("batch", REQUESTS, lambda said: said if said in found else None)
    if len(rows) == 1:
        return found[main]
    st.session_state["compare_batch"] = asked or main
    picked = st.radio(
        REQUESTS,
        list(found),
        key="compare_batch",
        horizontal=True,
        on_change=lambda: choice.keep("batch", st.session_state["compare_batch"]),
    )
    return found[picked]


def _figures(row: SimpleNamespace) -> list[Figure]:
    is_token = row.basis == "token"
    of = "an emitted token" if is_token else "a step"
    found: list[Figure] = []
    if row.speedup is not None:
        found.append(Figure("speed-up", f"{row.speedup:.2f}", "x", _interval(row, of)))
    if is_token:
        found += [
            _side("time of a token", row, "ns_per_token", units.ms, "ms"),
            _side("tokens of a step", row, "tokens_per_step", lambda n: f"{n:.2f}", ""),
            _side("tokens/s of a request", row, "tokens_per_s", lambda n: f"{n:,.1f}", ""),
        ]
    return [*found, _side("step, median", row, "step_p50_ns", units.ms, "ms"), _steps(row)]


def _interval(row: SimpleNamespace, of: str) -> str:
    if row.speedup_low is None:
        return f"for {of}; too few steps for an interval"
    return f"for {of}; 95 %: {row.speedup_low:.2f} to {row.speedup_high:.2f}"


def _side(
    name: str, row: SimpleNamespace, column: str, written: Callable[[float], str], unit: str
) -> Figure:
    """A figure of the other, with that of the base as its note."""
    base, other = (written(getattr(row, f"{side}_{column}")) for side in ("base", "other"))
    return Figure(name, other, unit, f"base: {base} {unit}".rstrip())


def _steps(row: SimpleNamespace) -> Figure:
    return Figure("steps", f"{row.other_steps:,}", "", f"base: {row.base_steps:,}")


def bars(sides: dict[str, Value], row: SimpleNamespace, names: tuple[str, str]) -> None:
    """Where the time of a token goes to from one run to the other."""
    st.subheader(f"Why: {'an emitted token' if row.basis == 'token' else 'a step'}, part by part")
    params = chosen.params("compare_waterfall", **sides, fold=FOLD)
    rows = data.rows("compare_waterfall", **params)
    picture = waterfall.bars(rows, row, names, theme.is_dark())
    parts.chart(picture, "compare_waterfall", params)
    st.caption(READING)


def kernels(sides: dict[str, Value]) -> None:
    """Kernels that changed, came or went."""
    st.subheader("Kernels, most change first")
    params = chosen.params("compare_kernels", **sides)
    frame = data.report("compare_kernels", **params)
    changed = frame[frame["change"] != "same"]
    n_same = len(frame) - len(changed)
    if changed.empty:
        st.write(parts.escaped("No kernel changes by 1 % or more."))
        parts.computed("compare_kernels", params)
        return
    parts.table(changed, "compare_kernels", params, shown=KERNELS, height=HEIGHT)
    if n_same:
        st.caption(parts.escaped(f"{n_same:,} more change by less than 1 %."))


def facts(context: list[SimpleNamespace], sides: dict[str, Value]) -> None:
    """What the runs were: what differs in words, all of it as a table."""
    st.subheader("What is the same, and what differs")
    differ = [row for row in context if row.verdict == "differs"]
    noted = [compare_page.difference(row) for row in differ if row.effect == "noted"]
    warned = [compare_page.difference(row) for row in differ if row.effect == "warned"]
    if warned:
        st.warning(parts.escaped(f"Differs, and may be the reason: {', '.join(warned)}."))
    if noted:
        st.write(parts.escaped(f"Differs: {', '.join(noted)}."))
    parts.table(data.report("compare_context", **sides), "compare_context", sides, CONTEXT)


st.title("Compare")
runs = {row.run: row for row in data.rows("run_list")}
if chosen.other:
    compare(*repeats.chosen(pairs.ordered(runs[chosen.run], runs[chosen.other]), list(runs)))
elif len(runs) > 1:
    parts.empty("Choose a second run in the sidebar, under Compare with.")
else:
    parts.empty(
        f"{chosen.run} is the only run here: a second one is needed to compare with.",
        "tracekit capture --run NAME -- vllm serve MODEL",
    )
