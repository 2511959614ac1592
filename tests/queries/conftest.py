import pytest
from database import memory_database
from samples import baseline, eagle3, stalled


@pytest.fixture(scope="session")
def con():
    """The three runs made by hand, in memory; tests only read."""
    con = memory_database()
    for fill in (baseline, eagle3, stalled):
        fill(con, fill.__name__)
    yield con
    con.close()


@pytest.fixture
def empty():
    """A database without a run, to be filled or told what it has to know."""
    con = memory_database()
    yield con
    con.close()
