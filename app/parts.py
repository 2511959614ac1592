"""How views show things: figures, charts and tables, each with its source and its rows as CSV."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Literal

import altair as alt
import pandas as pd
import streamlit as st

from tracekit.app import columns, data
from tracekit.cli.table import shorten, visible
from tracekit.errors import TracekitError
from tracekit.queries.header import Value
from tracekit.report.document import Figure

__all__ = [
    "chart",
    "computed",
    "empty",
    "escaped",
    "headline",
    "named",
    "shell",
    "table",
    "telling",
    "visible",
]

Picture = alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart | alt.FacetChart

ACROSS = 8
"""Key figures side by side; more go below."""

MISSING = "-"
"""What a table shows where nothing is known, or nothing is to be said."""

LONG, SCROLLED = 600, 160
"""Letters from which on a call scrolls, and the pixels it then has: rows may be a parameter."""

_SIGNS = re.compile(r"([!-/:-@\[-`{-~])")

_LINKS = re.compile(r"(?=://)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
"""Where an address is told by: Streamlit links them even where each sign is escaped."""

JOINER = "\u2060"
"""Has no width, and allows no break of a line."""


_PER_CENT = re.compile(r"(?<=\d) (?=%)")

WIDE = 10_000
"""Columns of a line of the command line's pages that is to stay whole."""

_LETTERS = 120
_WORD = re.compile(rf"\S{{{_LETTERS + 1},}}")
"""A word that is shown without its middle: a name of 2,000 letters would fill the screen."""


def escaped(text: str) -> str:
    """Text for a widget that reads Markdown: names from traces stay what they are, on a line."""
    short = _WORD.sub(lambda word: shorten(word[0], _LETTERS), visible(text))
    whole = _PER_CENT.sub("\u00a0", short)
    return _SIGNS.sub(r"\\\1", _LINKS.sub(JOINER, whole))


def named(name: str) -> str:
    """A name as it stands in a heading or a sentence: a long one without its middle."""
    return shorten(name, _LETTERS)


@contextmanager
def telling() -> Iterator[None]:
    """Show what goes wrong in the body as one line, such as a database that is written anew."""
    try:
        yield
    except TracekitError as error:
        st.error(escaped(str(error)))


def empty(what: str, command: str = "") -> None:
    """Say what is not there, and what to run to have it."""
    st.info(escaped(what))
    if command:
        shell(command)


def shell(command: str) -> None:
    """A command to run; `st.code` would load 1.6 MB of scripts for colours it does not have."""
    with st.container(border=True):
        st.text(visible(command))


def headline(figures: Sequence[Figure]) -> None:
    """Key figures side by side, each with a note on how it was come by."""
    for start in range(0, len(figures), ACROSS):
        row = figures[start : start + ACROSS]
        for column, figure in zip(st.columns(len(row)), row, strict=True):
            column.metric(escaped(figure.name), f"{figure.value} {figure.unit}".rstrip())
            column.caption(escaped(figure.note))


def chart(picture: Picture, report: str, params: Mapping[str, Value]) -> None:
    """A chart of the report's rows, with the way they are computed and the rows themselves."""
    st.altair_chart(picture)
    computed(report, params)


def table(
    frame: pd.DataFrame,
    report: str,
    params: Mapping[str, Value],
    shown: Sequence[str] = (),
    pick: Callable[[int], None] | None = None,
    height: int | Literal["auto"] = "auto",
) -> None:
    """Rows of a report, or some of them, in units that people read; `shown` are its columns.

    `pick` is called with the place of a row that is clicked; a table higher than `height`, in
    pixels, scrolls.
    """
    readable, config = columns.readable(frame, data.query(report), shown)
    if pick is None:
        st.dataframe(
            readable, column_config=config, hide_index=True, height=height, placeholder=MISSING
        )
    else:
        key = f"table-{_place(report, params)}"
        st.dataframe(
            readable,
            column_config=config,
            hide_index=True,
            height=height,
            placeholder=MISSING,
            key=key,
            selection_mode="single-row",
            on_select=partial(_picked, key, pick),
        )
    computed(report, params)


def computed(report: str, params: Mapping[str, Value]) -> None:
    """The query's own header, the rows in Python, and all of these rows as a file."""
    place = _place(report, params)
    with st.container(horizontal=True):
        with st.popover("How is this computed", key=f"computed-{place}"):
            st.code(data.header(report), language=None, wrap_lines=True)
            st.caption("The same rows in Python:")
            call = _call(report, params)
            height: int | Literal["content"] = SCROLLED if len(call) > LONG else "content"
            st.code(call, language="python", wrap_lines=True, height=height)
        st.download_button(
            "CSV",
            lambda: data.report(report, **params).to_csv(index=False),  # once it is clicked
            file_name=f"{report}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            key=f"csv-{place}",
        )


def _picked(key: str, pick: Callable[[int], None]) -> None:
    for row in st.session_state[key].selection.rows:
        pick(row)


def _place(report: str, params: Mapping[str, Value]) -> str:
    """What tells a widget from those of other reports on the page."""
    return "-".join([report, *(str(value) for value in params.values() if value is not None)])


def _call(report: str, params: Mapping[str, Value]) -> str:
    given = "".join(f", {name}={value!r}" for name, value in params.items() if value is not None)
    return f"tracekit.open({str(data.path())!r}).report({report!r}{given}).df()"
