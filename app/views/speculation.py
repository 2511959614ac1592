"""Speculation: what drafts cost, how many are accepted, and what other drafts would give."""

from shlex import quote
from types import SimpleNamespace

import pandas as pd
import streamlit as st

from tracekit import units
from tracekit.app import choice, data, pairs, parts, supposing, theme
from tracekit.app.charts import speculation
from tracekit.cli import page, spec, whatif_inputs, whatif_page
from tracekit.cli.headline import profiling, speed, traced
from tracekit.queries.header import Value
from tracekit.report.document import Figure
from tracekit.whatif import forbidden, told

PHASES = (
    *("row_kind", "phase", "busy_ns", "share_of_step", "ns_per_token"),
    *("all_reduce_ns", "all_reduce_calls", "p10_ns", "p90_ns"),
)
BY_K = (
    *("k", "tokens_per_step", "ns_per_token", "speedup", "speedup_low", "speedup_high"),
    *("break_even_acceptance", "tokens_per_s", "tokens_per_s_low", "tokens_per_s_high"),
    *("verify_ns", "draft_ns", "outside_ns", "step_ns"),
)
READING = (
    "A line is the range: the error of what was measured, and half of all that the model adds. "
    "Broken: without drafts."
)
PAYS = (
    "Drafts pay with K where acceptance up to position K lies above the line. Rates are given the "
    "position before; paler points are assumed."
)

chosen = choice.current()
is_dark = theme.is_dark()


def measured() -> None:
    """What drafting, verifying and sampling take, and which drafts are accepted."""
    head = data.rows("breakdown_headline", **chosen.params("breakdown_headline", kind="decode"))
    totals = data.rows("spec_totals", run=chosen.run)
    if not totals and not any(row.is_verify for row in head):
        parts.empty(
            f"{chosen.run} has no step that checks drafts, and no counters of drafts beside it: "
            "what follows is a prediction."
        )
        return
    phases = data.rows("spec_phases", **chosen.params("spec_phases"))
    cost = data.rows("profiling_cost", run=chosen.run)
    parts.headline([*_drafted(totals), *_figures(head, phases, cost)])
    if phases:
        per_phase()
        for words in [*(traced(row, cost) for row in head), *profiling(cost, parts.WIDE)]:
            st.caption(parts.escaped(words))
    left, right = st.columns([2, 3])
    with left:
        acceptance()
    with right:
        st.subheader("Tokens")
        tokens(totals)


def _drafted(totals: list[SimpleNamespace]) -> list[Figure]:
    found = []
    for row in totals:
        if row.acceptance_rate is not None:
            counts = f"{row.accepted:,} of {row.draft_tokens:,} drafted tokens"
            found.append(Figure("accepted", units.percent(row.acceptance_rate), "%", counts))
        if row.mean_acceptance_length is not None:
            length = f"{row.mean_acceptance_length:.2f}"
            found.append(Figure("of a draft", length, "tokens", "with the bonus token"))
    return found


def _figures(
    head: list[SimpleNamespace], phases: list[SimpleNamespace], cost: list[SimpleNamespace]
) -> list[Figure]:
    found = []
    for row in head:
        ns_per_token, _, is_unprofiled = speed(row, cost)
        if ns_per_token is not None:
            window = "without the profiler" if is_unprofiled else "profiled"
            found.append(Figure("emitted token", units.ms(ns_per_token), "ms", window))
        found.append(Figure("step", units.ms(row.step_ns), "ms", "mean, profiled"))
    for row in phases:
        if row.phase in ("draft", "verify"):
            calls = f"AllReduce {units.ms(row.all_reduce_ns)} ms of it"
            if row.all_reduce_calls:
                calls += f", {page.calls(row.all_reduce_calls)} calls"
            found.append(Figure(f"{row.phase} of a step", units.ms(row.busy_ns), "ms", calls))
    return found


def per_phase() -> None:
    """Phases of a step and of a token."""
    st.subheader("A step and a token by phase")
    params = chosen.params("spec_phases")
    frame = data.report("spec_phases", **params)
    st.altair_chart(speculation.phases(frame, is_dark))
    st.caption("The line below a phase is the part of it in which an AllReduce runs.")
    if (frame["row_kind"] == "host").any():
        st.caption("host: drafting is time of the host; the device may work meanwhile.")
    parts.table(frame, "spec_phases", params, shown=PHASES)


def acceptance() -> None:
    """Acceptance by position."""
    st.subheader("Accepted by position")
    frame = data.report("spec", run=chosen.run)
    if frame.empty:
        parts.empty("Nothing tells the acceptance by position.")
    else:
        parts.chart(speculation.accepted(frame, is_dark), "spec", {"run": chosen.run})


def tokens(totals: list[SimpleNamespace]) -> None:
    """What the drafts gave, and what was cut of it."""
    for total in totals:
        for words in spec.sentences(total, bool(data.rows("profiling_cost", run=chosen.run))):
            st.write(parts.escaped(words))
        if total.n_cut:
            st.caption("Cut: accepted, but past the end of a text or its max_tokens.")
        parts.computed("spec_totals", {"run": chosen.run})
        return
    (row,) = data.rows("spec_untold", run=chosen.run)
    parts.empty(
        f"{spec.untold(row)}.",
        "tracekit capture --run NAME -- vllm serve MODEL --speculative-config ...",
    )


def what_if() -> None:
    """What other drafts would give, with sliders for what may be otherwise."""
    st.subheader("What if")
    calibrate = _calibrate()
    supposed = supposing.asked()
    params: dict[str, Value] = {"run": chosen.run, "calibrate": calibrate, **supposed.given()}
    inputs = data.rows("whatif_inputs", **params)
    reason = forbidden(inputs, chosen.run, calibrate)
    if reason is not None:
        parts.empty(reason)
        return
    predicted: dict[str, Value] = {"inputs": told(inputs)}
    rows = data.rows("whatif", **predicted)
    has_drafts = any(row.subject == "speculative" for row in inputs)
    requests, k = supposing.sliders(supposed, rows, "as measured" if has_drafts else "as assumed")
    there = [row for row in rows if row.concurrency == requests]
    st.markdown(f"**{parts.escaped(whatif_page.answer(there))}**")
    _picked(next(row for row in there if row.k == k))
    frame = _frame(there)
    curves(frame, k, _rates(inputs, supposed.acceptance is None, calibrate))
    parts.table(frame, "whatif", predicted, shown=BY_K)
    stands_on(inputs, next(row for row in rows if row.is_own), params, calibrate)


def _frame(rows: list[SimpleNamespace]) -> pd.DataFrame:
    return pd.DataFrame([vars(row) for row in rows])


def _calibrate() -> str | None:
    """The run to compare with, where one of the two drafts and the other does not."""
    (run,) = data.rows("run_list", run=chosen.run)
    others = data.rows("run_list", run=chosen.other) if chosen.other else []
    return next((other.run for other in others if _calibrates(run, other)), None)


def _calibrates(run: SimpleNamespace, other: SimpleNamespace) -> bool:
    """Whether one of the two drafts, and nothing forbids to compare them."""
    context = data.rows("compare_context", base=run.run, other=other.run)
    is_refused = any(row.effect == "refused" and row.verdict == "differs" for row in context)
    return pairs.is_question(run, other) and not is_refused


def _rates(inputs: list[SimpleNamespace], is_counted: bool, calibrate: str | None) -> pd.DataFrame:
    """Acceptance by position, given the one before: as counted, then as it is taken to go on."""
    runs = [run for run in (chosen.run, calibrate) if run and is_counted]
    counted = {
        row.position: row.conditional_rate for run in runs for row in data.rows("spec", run=run)
    }
    beyond = next((row.value for row in inputs if row.input == "acceptance_beyond"), None)
    goes_on = "assumed" if is_counted else "given"
    rates = [
        (position, counted.get(position, beyond), "counted" if position in counted else goes_on)
        for position in supposing.KS
    ]
    return pd.DataFrame(rates, columns=["k", "rate", "known"])


def _picked(row: SimpleNamespace) -> None:
    """Key figures of one K."""
    even = row.break_even_acceptance
    parts.headline(
        [
            Figure(f"speed-up, K={row.k}", f"{row.speedup:.2f}", "x", _range(row, "speedup", 2)),
            Figure("tokens/s", f"{row.tokens_per_s:,.0f}", "", _range(row, "tokens_per_s", 0)),
            Figure("emitted token", units.ms(row.ns_per_token), "ms", _without(row)),
            Figure("tokens of a step", f"{row.tokens_per_step:.2f}", "", row.tokens_kind or ""),
            Figure(
                "breaks even at",
                "never" if even is None else units.percent(even),
                "" if even is None else "%",
                "accepted at each position, given the one before",
            ),
        ]
    )


def _range(row: SimpleNamespace, name: str, digits: int) -> str:
    low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
    return f"{low:,.{digits}f} to {high:,.{digits}f}"


def _without(row: SimpleNamespace) -> str:
    return f"{units.ms(row.base_ns_per_token)} ms without drafts"


def curves(frame: pd.DataFrame, k: int, rates: pd.DataFrame) -> None:
    """Speed-up, tokens per second and break-even by K."""
    left, middle, right = st.columns(3)
    left.altair_chart(speculation.gains(frame, k, is_dark))
    middle.altair_chart(speculation.rates(frame, k, is_dark))
    right.altair_chart(speculation.break_even(frame, rates, is_dark))
    left.caption(READING)
    right.caption(PAYS)


def stands_on(
    inputs: list[SimpleNamespace],
    base: SimpleNamespace,
    params: dict[str, Value],
    calibrate: str | None,
) -> None:
    """What the prediction reckons with, and how each of it is known."""
    st.subheader("What it stands on")
    rows = [vars(row) for row in whatif_inputs.rows(inputs, base)]
    st.dataframe(
        pd.DataFrame(rows).rename(columns={"name": "input", "kind": "known", "source": "from"}),
        hide_index=True,
    )
    parts.computed("whatif_inputs", params)
    if calibrate is None:
        st.caption(
            "A second run of the same model and machine makes it surer: choose one with drafts "
            "where this has none, or the other way round, under Compare with."
        )
    st.caption("The same on the command line:")
    parts.shell(_command(calibrate))


def _command(calibrate: str | None) -> str:
    """The prediction as a command."""
    supposed = supposing.asked()
    options = {
        "--calibrate": None if calibrate is None else quote(calibrate),
        "--acceptance": supposed.acceptance,
        "--draft-ms-per-step": supposed.draft_ms,
    }
    given = [f"{name} {value}" for name, value in options.items() if value is not None]
    return " ".join(["tracekit whatif", quote(chosen.run), *given])


st.title("Speculation")
data.ahead(
    [
        ("spec_totals", {"run": chosen.run}),
        ("spec_phases", chosen.params("spec_phases")),
        ("profiling_cost", {"run": chosen.run}),
        ("spec", {"run": chosen.run}),
        *(
            [("compare_context", {"base": chosen.run, "other": chosen.other})]
            if chosen.other
            else []
        ),
    ]
)
measured()
what_if()
