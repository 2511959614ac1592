"""SQL: any SELECT over the views, with what they hold beside it."""

import time

import pandas as pd
import streamlit as st

from tracekit import queries
from tracekit.app import choice, data, excerpts, parts
from tracekit.app.charts.plain import MARKS, plain
from tracekit.cli import page
from tracekit.sandbox import Limits

TEXT, RAN = "sql_text", "sql_ran"
"""Where the session keeps what is written, and what was run last."""


def show_query() -> None:
    """Where a query is written, and the way to begin one."""
    examples = queries.examples()
    st.session_state.setdefault(TEXT, choice.asked("sql") or next(iter(examples.values())))
    st.selectbox(
        "Example",
        list(examples),
        index=None,
        placeholder="choose one to start from",
        key="sql_example",
        on_change=lambda: begin(examples.get(st.session_state["sql_example"])),
    )
    st.text_area("Query: one SELECT", key=TEXT, height=185)
    st.button("Run", type="primary", icon=":material/play_arrow:", on_click=run)


def begin(text: str | None) -> None:
    """Put an example in the place of the query."""
    if text is not None:
        st.session_state[TEXT] = text


def run() -> None:
    """Run what is written, and put it into the address."""
    st.session_state[RAN] = st.session_state[TEXT]
    choice.keep("sql", st.session_state[TEXT])


def show_schema() -> None:
    """The views and tables, and the columns of one, as the database itself describes them."""
    found = data.rows("schema")
    relations = {row.relation: row for row in found}
    name = st.selectbox(
        "Views and tables",
        list(relations),
        format_func=lambda name: f"{name} ({relations[name].kind})",
        key="sql_relation",
    )
    st.caption(parts.escaped(relations[name].relation_comment or ""))
    frame = data.report("schema", name=name)
    parts.table(frame, "schema", {"name": name}, ("column_name", "type", "comment"), height=215)


def show_result(query: str) -> None:
    """The rows as a table, a chart and a file."""
    began = time.perf_counter()
    excerpt = data.asked(query)
    made = excerpts.frame(excerpt)
    rows = f"{'first ' if excerpt.is_cut else ''}{page.counted(len(made), 'row')}"
    cut = f"; texts cut at {limits.cell:,} letters" if excerpt.is_shortened else ""
    st.caption(f"{rows} in {time.perf_counter() - began:.2f} s{cut}")
    table, chart = st.tabs(["Table", "Chart"])
    with table:
        st.dataframe(made, hide_index=True)
        st.download_button(
            "CSV", made.to_csv(index=False), "query.csv", "text/csv", on_click="ignore"
        )
    with chart:
        show_chart(made)


def show_chart(made: pd.DataFrame) -> None:
    """A simple chart of columns that are chosen."""
    heights = excerpts.numbers(made)
    if made.empty or not heights:
        st.info("A chart needs rows with a number.")
        return
    names = list(made)
    with st.container(horizontal=True):
        mark = st.selectbox("Form", MARKS, key="sql_mark")
        x = st.selectbox("Across", names, key="sql_x")
        y = st.selectbox("Height", heights, key="sql_y", index=len(heights) - 1)
        color = st.selectbox("Colour", names, index=None, key="sql_color")
    st.altair_chart(plain(made, x, y, color, mark))


st.title("SQL")
limits = Limits()
st.caption(
    f"Reads this database and nothing else, for at most {limits.seconds:g} s; "
    f"the first {limits.rows:,} rows are shown."
)
left, right = st.columns(2)
with left:
    show_query()
with right:
    show_schema()
if RAN in st.session_state:
    with parts.telling():
        show_result(st.session_state[RAN])
