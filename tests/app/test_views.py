"""Each view over the sample database: it shows every run without an exception or an error."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "app" / "views"
VIEWS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("run", ["baseline", "drafting", "vllm_cpu_tp2_draft"])
def test_views_show_every_run(view, name, run):
    page = view(name, run=run)
    assert not page.error
    assert page.title
