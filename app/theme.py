"""Light or dark, as the browser shows the page."""

import streamlit as st


def is_dark() -> bool:
    """Whether the page is dark: charts then take the colours that are made for it."""
    return st.context.theme.type == "dark"
