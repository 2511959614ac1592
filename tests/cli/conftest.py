import pytest
from click.testing import CliRunner
from database import write_database
from samples import baseline, eagle3, stalled

from tracekit.cli import main


@pytest.fixture(scope="session")
def db(tmp_path_factory):
    """A database file with the three runs made by hand."""
    path = tmp_path_factory.mktemp("db") / "runs.duckdb"
    return write_database(path, baseline, eagle3, stalled)


@pytest.fixture
def call(db, monkeypatch):
    """Runs a command on that database, in 80 columns unless told otherwise; gives its result."""

    def run(*words, database=db, stdin=None, columns=80, exit_code=0):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TRACEKIT_DB", str(database))
        result = CliRunner().invoke(main, list(words), input=stdin)
        assert result.exit_code == exit_code, result.output
        return result

    return run
