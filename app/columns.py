"""Columns of a report as a table shows them: in a readable unit, with their meaning."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from tracekit.queries.header import Column, Query

TIMES = ((1e9, "s", "%.3f"), (1e6, "ms", "%.3f"), (1e3, "us", "%.1f"))
"""Units of time and the digits they take; a column has the largest that its median fills."""

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
    made = {name: _readable(frame[name], found[name]) for name in names}
    cells = pd.DataFrame({name: values for name, (values, _) in made.items()}, index=frame.index)
    return cells, {name: config for name, (_, config) in made.items()}


def _readable(values: pd.Series, column: Column) -> tuple[pd.Series, ColumnConfig]:
    words, meaning = column.name.replace("_", " "), column.meaning
    if "ns" in column.name.split("_"):
        size, unit, form = _unit(values)
        title = f"{words.removesuffix(' ns').replace('ns per', 'time per')}, {unit}"
        config = st.column_config.NumberColumn(title, help=meaning, format=form)
        return values.astype("Float64") / size, config
    if set(column.name.split("_")) & set(SHARE) or column.name == "break_even_acceptance":
        return values, st.column_config.NumberColumn(words, help=meaning, format="percent")
    if pd.api.types.is_float_dtype(values):
        return values, st.column_config.NumberColumn(words, help=meaning, format="%.2f")
    if pd.api.types.is_integer_dtype(values):
        return values, st.column_config.NumberColumn(words, help=meaning, format="localized")
    return values, st.column_config.Column(words, help=meaning)


def _unit(values: pd.Series) -> tuple[float, str, str]:
    typical = float(values.abs().median())
    return next((time for time in TIMES if typical >= time[0]), TIMES[-1])
