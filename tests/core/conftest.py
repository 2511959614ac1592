import pytest


@pytest.fixture
def db(tmp_path):
    return tmp_path / "tracekit.duckdb"
