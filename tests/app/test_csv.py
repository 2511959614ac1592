"""What a view gives as CSV are the rows of the line of Python beside it."""

import io

import pandas as pd
import pytest
import streamlit as st
from dashboard import VIEWS

import tracekit


@pytest.fixture
def files(monkeypatch):
    """Functions that make the file of each button for CSV, in the order of the page."""
    found = []
    shown = st.download_button

    def button(label, data, **how):
        found.append(data)
        return shown(label, data, **how)

    monkeypatch.setattr(st, "download_button", button)
    return found


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "sql"])
def test_a_csv_has_the_rows_of_the_call(view, files, name):
    page = view(name, run="vllm_cpu_tp2_draft", other="vllm_cpu_tp2_baseline")
    calls = [code.value for code in page.code if code.value.startswith("tracekit.open")]
    assert calls
    assert len(calls) == len(files)
    for call, file in zip(calls, files, strict=True):
        wanted = eval(call, {"tracekit": tracekit}).to_csv(index=False)  # noqa: S307
        pd.testing.assert_frame_equal(read(file()), read(wanted), check_dtype=False)


def read(text):
    return pd.read_csv(io.StringIO(text))
