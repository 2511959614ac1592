"""A database as a user has one, and the dashboard over it without a browser."""

import pytest
from dashboard import APP
from database import write_database
from samples import baseline, drafting
from streamlit import config
from streamlit.testing.v1 import AppTest

import tracekit
from tracekit.cli.app import SETTINGS

RECORDED = sorted((APP.parent / "sample_traces").glob("vllm_cpu_tp2_*"))


@pytest.fixture(scope="session")
def db(tmp_path_factory):
    """Two recorded runs, without and with drafts, and two made by hand."""
    path = tmp_path_factory.mktemp("app") / "runs.duckdb"
    write_database(path, baseline, drafting)
    tracekit.ingest(RECORDED, each=True, db=path)
    return path


@pytest.fixture
def view(db, monkeypatch):
    """Opens a view with an address's choice on that database; gives the page after its run."""

    for name, value in {**SETTINGS, "client.showErrorDetails": "full"}.items():
        config.set_option(name, value)

    def open_view(name="overview", database=db, **address):
        monkeypatch.setenv("TRACEKIT_DB", str(database))
        page = AppTest.from_file(APP / "main.py", default_timeout=30)
        for choice, value in address.items():
            page.query_params[choice] = str(value)
        page.switch_page(f"views/{name}.py").run()
        assert not page.exception, page.exception
        return page

    return open_view
