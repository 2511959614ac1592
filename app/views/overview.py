"""Overview: the runs, and of the chosen one the key figures and findings."""

import streamlit as st

from tracekit.app import choice, data, parts

chosen = choice.current()
st.title("Overview")
parts.table(data.report("run_list"), "run_list", {})
