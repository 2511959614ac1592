"""Generates and ingests each dialect once for all tests that compare it with its truth."""

import pytest
from generated import generate

import tracekit


@pytest.fixture(scope="session")
def ingested(tmp_path_factory):
    """Gives folder and database of a dialect, made when first asked for."""
    made = {}

    def make(dialect):
        if dialect not in made:
            out = tmp_path_factory.mktemp(dialect)
            generate(out, "--dialect", dialect)
            db = out / "run.duckdb"
            tracekit.ingest([out / dialect], run="r", db=db)
            made[dialect] = out / dialect, db
        return made[dialect]

    return make
