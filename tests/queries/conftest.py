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
