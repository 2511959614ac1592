"""The dashboard's router: the sidebar's choice, then the view that is asked for.

Streamlit runs it by its path, once for each click; `tracekit app` starts that.
"""

from pathlib import Path

import streamlit as st

from tracekit.app import choice, data, parts

VIEWS = (
    ("overview", "Overview", ":material/home:"),
    ("step", "Step", ":material/view_timeline:"),
    ("collectives", "Collectives", ":material/hub:"),
    ("speculation", "Speculation", ":material/fast_forward:"),
    ("compare", "Compare", ":material/compare_arrows:"),
    ("quality", "Data quality", ":material/fact_check:"),
    ("sql", "SQL", ":material/database:"),
)
"""File in `views`, title and icon of each view, in the order of the menu."""

SIDEBAR = 240
"""Its width in pixels: the rest of 1280 is for charts."""

st.set_page_config(
    page_title="tracekit",
    page_icon=Path(__file__).with_name("icon.svg"),  # an icon by name would come from the network
    layout="wide",
    initial_sidebar_state=SIDEBAR,
)
page = st.navigation(
    [st.Page(f"views/{name}.py", title=title, icon=icon) for name, title, icon in VIEWS]
)
with parts.telling(), data.held_open():
    runs = data.rows("run_list")
    if runs:
        choice.sidebar(runs)
        page.run()
    else:
        parts.empty(f"{data.path()}: no run in it.", f"tracekit ingest PATH --db {data.path()}")
