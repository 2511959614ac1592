import pytest


@pytest.fixture(scope="session")
def ingested(generated):
    """Gives folder and database of a dialect, for tests that compare it with its truth."""
    return generated.ingested
