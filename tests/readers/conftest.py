"""Reads traces made in a test, or recorded ones, into a database of its own."""

import json
from functools import cache
from pathlib import Path

import duckdb
import pytest
from database import memory_database
from readers.recorded import Folder

from tracekit.readers.kineto import TraceFile, read_traces

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "traces"


@cache
def tables():
    """The schema without its comments, which take two thirds of its time."""
    text = (ROOT / "tracekit" / "schema.sql").read_text()
    statements = (statement.query.strip() for statement in duckdb.extract_statements(text))
    return "\n".join(query for query in statements if not query.startswith("COMMENT ON"))


class Staged:
    """What reading the traces of one run has filled: `file`, `ledger`, `kept`."""

    def __init__(self, con):
        self.con = con

    def rows(self, query, **values):
        return self.con.execute(query, values or None).fetchall()

    def names(self):
        return [name for (name,) in self.rows("SELECT name FROM kept ORDER BY start_ns, name")]

    def file(self):
        cursor = self.con.execute("FROM file ORDER BY file_id")
        columns = [column[0] for column in cursor.description]
        return dict(zip(columns, cursor.fetchone(), strict=True))

    def ledger(self):
        """Reason to (events skipped, whether it is a loss)."""
        query = "SELECT reason, skipped, is_loss FROM ledger"
        return {reason: (skipped, is_loss) for reason, skipped, is_loss in self.rows(query)}

    def losses(self):
        return {reason: skipped for reason, (skipped, is_loss) in self.ledger().items() if is_loss}

    def example(self, reason):
        ((example,),) = self.rows(
            "SELECT example FROM ledger WHERE reason = $reason", reason=reason
        )
        return example


@pytest.fixture
def staged(tmp_path):
    """Function that reads files, given as paths, into a new database."""
    connections = []

    def read(*paths, progress=None, **given):
        con = duckdb.connect(config={"threads": 2})
        connections.append(con)
        con.execute(f"BEGIN; {tables()} COMMIT;")
        files = [TraceFile(path, path.name, i, **given) for i, path in enumerate(paths)]
        read_traces(con, files, run="run", scratch=tmp_path, progress=progress)
        return Staged(con)

    yield read
    for con in connections:
        con.close()


@pytest.fixture
def read(tmp_path, staged):
    """Function that reads one file, given as bytes, text or what JSON has to hold."""

    def read_one(content, name="trace.json", **given):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return staged(path, **given)

    return read_one


@pytest.fixture
def shared():
    """Folder of traces that are no part of the project."""
    if not SHARED.is_dir():
        pytest.skip(f"no {SHARED}")
    return SHARED


@pytest.fixture
def folder(tmp_path):
    """A run folder for what is recorded beside traces."""
    (tmp_path / "run").mkdir()
    with memory_database() as con:
        yield Folder(tmp_path / "run", con)
