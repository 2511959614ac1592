"""Each view over the sample database: it shows every run without an exception or an error."""

import pytest
from dashboard import VIEWS


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("run", ["baseline", "drafting", "vllm_cpu_tp2_draft"])
def test_views_show_every_run(view, name, run):
    page = view(name, run=run)
    assert not page.error
    assert page.title
