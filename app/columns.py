"""Columns of a report as a table shows them: in a readable unit, with their meaning."""

import re
from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from tracekit.queries.header import Column, Query

TIMES = ((1e9, "s", 3), (1e6, "ms", 3), (1e3, "us", 1))
"""Units of time and the digits they take; a table has the largest that its median time fills."""

Unit = tuple[float, str, int]

TITLES = {
    "all_reduce_share_of_step": "AllReduce of step",
    "break_even_acceptance": "breaks even at",
    "busbw_gb_per_s": "bus bandwidth, GB/s",
    "class": "mostly",
    "column_name": "column",
    "dtype": "element type",
    "first_habit_step": "straggler from step",
    "last_habit_step": "to step",
    "measured_ns": "calibration ns",
    "model_ns": "NCCL's bound ns",
    "n_lost": "events lost",
    "of_n": "of",
    "row_kind": "part",
    "speculative_method": "drafts",
    "sum_ns": "time ns",
    "tensor_parallel": "TP",
}
"""Titles of columns whose names say too little, or more than a narrow column holds."""

WORDS = {
    "all_reduce": "AllReduce",
    "dp": "engine",
    "dur": "time",
    "gpu": "GPU",
    "high": "to",
    "impl": "implementation",
    "k": "K",
    "low": "from",
    "n": "number",
    "ns per": "time per",
    "p10": "10th percentile",
    "p50": "median",
    "p90": "90th percentile",
    "per s": "per second",
    "speedup": "speed-up",
}
"""What a word of a column's name, or two, is to a reader."""

_WORDS = re.compile(rf"\b({'|'.join(sorted(WORDS, key=len, reverse=True))})\b")

_LAST = re.compile(r" (median|from|to)$")
"""What of a quantity a column has: after a comma, as the unit is."""

SHARE = ("share", "rate")
"""Words that tell by a column's name that it is a part of a whole."""


def readable(
    frame: pd.DataFrame, query: Query, shown: Sequence[str] = ()
) -> tuple[pd.DataFrame, dict[str, ColumnConfig]]:
    """The frame in units that people read, and how Streamlit is to show each column.

    A column with nothing in it is left out.
    """
    found = {column.name: column for column in query.columns}
    names = [name for name in shown or found if not frame[name].isna().all()]
    unit = _unit([frame[name] for name in names if _is_time(name)])
    made = {name: _readable(frame[name], found[name], unit) for name in names}
    cells = pd.DataFrame({name: values for name, (values, _) in made.items()}, index=frame.index)
    return cells, {name: config for name, (_, config) in made.items()}


def _readable(values: pd.Series, column: Column, time: Unit) -> tuple[pd.Series, ColumnConfig]:
    name, meaning = column.name, column.meaning
    words = _title(name)
    if _is_time(name):
        size, unit, digits = time
        config = st.column_config.NumberColumn(
            f"{words}, {unit}", help=meaning, format=f"%.{digits}f"
        )
        return _rounded(values.astype("Float64") / size, digits), config
    if set(name.split("_")) & set(SHARE) or name == "break_even_acceptance":
        config = st.column_config.NumberColumn(f"{words}, %", help=meaning, format="%.2f")
        return _rounded(100 * values.astype("Float64"), 2), config
    if pd.api.types.is_float_dtype(values) and not (values.dropna() % 1 == 0).all():
        config = st.column_config.NumberColumn(words, help=meaning, format="%.2f")
        return _rounded(values, 2), config
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return values, st.column_config.NumberColumn(words, help=meaning, format="localized")
    return values, st.column_config.Column(words, help=meaning)


def _title(name: str) -> str:
    """The column's name in words, without its unit of time."""
    plain = re.sub(r"^(n|is)_", "", name).replace("_", " ").replace("all reduce", "all_reduce")
    words = TITLES.get(name) or _WORDS.sub(lambda word: WORDS[word[0]], plain)
    return _LAST.sub(r", \1", words.removesuffix(" ns"))


def _rounded(values: pd.Series, digits: int) -> pd.Series:
    """As they are shown: a little less than nothing is nothing, without a sign."""
    return values.astype("Float64").round(digits) + 0.0


def _is_time(name: str) -> bool:
    return "ns" in name.split("_")


def _unit(times: Sequence[pd.Series]) -> Unit:
    found = pd.concat([values.astype("Float64") for values in times]) if times else pd.Series([0.0])
    typical = float(found.abs().median())
    return next((time for time in TIMES if typical >= time[0]), TIMES[-1])
