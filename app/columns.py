"""Columns of a report as a table shows them: in a readable unit, with their meaning."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from tracekit.queries.header import Column, Query

TIMES = ((1e9, "s", "%.3f"), (1e6, "ms", "%.3f"), (1e3, "us", "%.1f"))
"""Units of time and the digits they take; a table has the largest that its median time fills."""

Unit = tuple[float, str, str]

WORDS = {
    "busbw_gb_per_s": "bus bandwidth, GB/s",
    "dp": "engine",
    "first_habit_step": "straggler from step",
    "last_habit_step": "to step",
    "of_n": "of",
    "row_kind": "part",
    "speculative_method": "drafts",
    "tensor_parallel": "TP",
}
"""Titles of columns whose names say too little, or more than a narrow column holds."""

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
    words = WORDS.get(name, name.removeprefix("n_").replace("_", " "))
    if _is_time(name):
        size, unit, form = time
        title = f"{words.removesuffix(' ns').replace('ns per', 'time per')}, {unit}"
        config = st.column_config.NumberColumn(title, help=meaning, format=form)
        return values.astype("Float64") / size, config
    if set(name.split("_")) & set(SHARE) or name == "break_even_acceptance":
        return values, st.column_config.NumberColumn(words, help=meaning, format="percent")
    if pd.api.types.is_float_dtype(values) and not (values.dropna() % 1 == 0).all():
        return values, st.column_config.NumberColumn(words, help=meaning, format="%.2f")
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return values, st.column_config.NumberColumn(words, help=meaning, format="localized")
    return values, st.column_config.Column(words, help=meaning)


def _is_time(name: str) -> bool:
    return "ns" in name.split("_")


def _unit(times: Sequence[pd.Series]) -> Unit:
    found = pd.concat([values.astype("Float64") for values in times]) if times else pd.Series([0.0])
    typical = float(found.abs().median())
    return next((time for time in TIMES if typical >= time[0]), TIMES[-1])
