"""Pages of predictions, as a reader sees them in 80 columns."""

import json
from types import SimpleNamespace

import pytest
from rich.cells import cell_len

from tracekit.cli import whatif_page

STORY = ("--baseline-ms", "12.1", "--verify-ms", "12", "--draft-ms-per-step", "1")
PAGES = [
    ("baseline",),
    ("baseline", "--calibrate", "eagle3", "--anyway"),
    ("eagle3",),
    (*STORY, "--acceptance", "0.868,0.684,0.474"),
]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
@pytest.mark.parametrize("columns", [80, 120])
def test_pages_fit_their_width(call, words, columns):
    for line in call("whatif", *words, columns=columns).stdout.splitlines():
        assert cell_len(line) <= columns or line.startswith("  tracekit"), line
        assert line == line.rstrip()


def test_the_sum_of_the_story(call, tmp_path):
    """Needs no run, no database."""
    words = (*STORY, "--tokens-per-step", "3")
    assert (
        call("whatif", *words, database=tmp_path / "none.duckdb").stdout
        == """\
Whatever K, for 1 request: 4.33 ms/token instead of 12.10, 2.79x.

  K tokens verify draft other ms/step ms/tok tok/s  gain     range even at
any   3.00  12.00  1.00  0.00   13.00   4.33   231 2.79x 2.79-2.79   7.0 %

input               value    known
step without drafts 12.10 ms given as given
verify              12.00 ms given as given
draft, once a step  1.00 ms  given as given: all drafting of a step, at every K
tokens a step       3        given as given
tokens: a stream gets of a step; other: sampling, host, idle; gain: time per
token without drafts / with them; even at: rate of acceptance at each position,
given the one before, at which gain is 1
"""
    )


def test_the_best_answer_comes_first_then_what_the_pass_grows_by(call):
    page = call("whatif", "baseline", "--calibrate", "eagle3", "--anyway", "--k", "2").stdout
    answer = page.split("\n\n")[1]
    assert answer.startswith("With K=2, for 1 request: 0.33 ms/token instead of 1.45, 4.45x (")
    assert "pass without drafts -> with K=2, ms: AllReduce 0.53 -> 0.07, rest" in page
    extrapolated = "so few or so many tokens: requests 4, 16, 64."
    assert extrapolated in " ".join(page.split())
    assert "step with drafts 0.73 ms measured 2 decode steps of eagle3," in " ".join(page.split())


def test_where_no_k_pays_the_nearest_is_told_with_what_would_do(call):
    times = ("--baseline-ms", "1.45", "--verify-ms", "1.45", "--draft-ms-per-step", "1.3")
    page = call("whatif", *times, "--acceptance", "0").stdout
    answer = " ".join(page.split("\n\n")[0].split())
    assert answer.startswith("No K pays for 1 request: K=1 comes nearest with 0.53x, 2.75 ms")
    assert answer.endswith("it would pay from 89.7 % acceptance on.")


def test_a_range_that_holds_one_is_no_answer(call):
    words = ("--acceptance", "0.5", "--draft-ms-per-step", "0.5", "--k", "1")
    answer = " ".join(call("whatif", "baseline", *words).stdout.split("\n\n")[1].split())
    assert "; the range holds 1: it cannot be told whether it pays; of 2 steps alone" in answer


@pytest.mark.parametrize(
    ("ks", "said"),
    [("1", "whether K=1 pays"), ("1,2", "whether any K pays for 1 request: K=2 comes")],
)
def test_nor_that_none_pays(call, ks, said):
    words = ("--acceptance", "0.3", "--draft-ms-per-step", "0.6", "--k", ks)
    answer = " ".join(call("whatif", "baseline", *words).stdout.split("\n\n")[1].split())
    assert answer.startswith(f"It cannot be told {said}")


def test_runs_that_cannot_be_compared_calibrate_no_other(call):
    words = ("whatif", "baseline", "--calibrate", "eagle3")
    refused = " ".join(call(*words, exit_code=1).output.split())
    assert "baseline, eagle3: not comparable: tensor parallel " in refused
    page = call(*words, "--anyway").stdout
    assert "Not comparable: tensor parallel " in page


def test_loads_at_which_it_cannot_be_told_are_named(call):
    words = ("--acceptance", "0.5", "--draft-ms-per-step", "0.5", "--k", "1")
    page = " ".join(call("whatif", "baseline", *words).stdout.split())
    assert "so it cannot be told whether it pays: requests 1, 4, 16, 64." in page


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.561, 0.9996, "0.56-<1.00"), (1.001, 1.4, ">1.00-1.40"), (1, 1, "1.00-1.00")],
)
def test_an_end_that_rounds_to_one_says_on_which_side_it_is(low, high, said):
    assert whatif_page.span(SimpleNamespace(speedup_low=low, speedup_high=high)) == said


def test_the_first_sentence_names_what_is_assumed(call):
    page = " ".join(call("whatif", "baseline").stdout.split())
    assert "for 1 request, with acceptance and draft time assumed: " in page
    assert "; that hangs on what is assumed: measure or give it; of 2 steps alone this" in page
    given = ("--acceptance", "0.7", "--draft-ms-per-step", "0.1")
    assert "assumed" not in call("whatif", "baseline", *given).stdout.split("\n\n")[1]


def test_of_drafts_alone_the_step_without_them_is_modelled(call):
    page = " ".join(call("whatif", "eagle3").stdout.split())
    assert "ms modelled the step with drafts, less what they add; a run without" in page
    assert "step without drafts" in page


def test_data_is_complete(call):
    words = ("whatif", "baseline", "--k", "1..3", "--concurrency", "1,2", "--format", "json")
    rows = json.loads(call(*words).stdout)
    assert [(row["concurrency"], row["k"]) for row in rows] == [
        (load, k) for load in (1, 2) for k in range(4)
    ]
    assert rows[1]["ns_per_token"] * rows[1]["tokens_per_step"] == pytest.approx(rows[1]["step_ns"])
    inputs = json.loads(call(*words, "--inputs").stdout)
    assert {row["kind"] for row in inputs} == {"measured", "modelled", "assumed"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--baseline-ms", "12"), "name one, or give --verify-ms, --draft-ms-per-step or"),
        (("baseline", "--calibrate", "stalled"), "it has drafts, and baseline too, or neither"),
        (("nothing",), "nothing: no such run in"),
        (("baseline", "--curve", "nothing"), "nothing: no such run in"),
        (("baseline", "--curve", "eagle3"), "eagle3: no curve of all-reduces that applies"),
        ((*STORY, "--tokens-per-step", "3", "--k", "1"), "give a larger --k"),
    ],
    ids=str,
)
def test_what_cannot_be_predicted_is_an_error(call, words, message):
    assert message in call("whatif", *words, exit_code=1).output


@pytest.mark.parametrize(
    "words",
    [
        ("--k", "0"),
        ("--k", "3..1"),
        ("--k", "1..99999999999"),
        ("--k", "x"),
        ("--concurrency", "0,1"),
        ("--acceptance", "1.2"),
        ("--acceptance", "0.5,0.6"),
        ("--acceptance", "nan"),
        ("--tokens-per-step", "nan"),
        ("--verify-ms", "0"),
        ("--draft-ms-per-step", "-1"),
        ("--draft-ms-per-step", "1", "--draft-fraction", "0.1"),
        ("--acceptance", "0.5", "--tokens-per-step", "2"),
        ("--draft-tp", "1", "--all-reduces-per-draft", "5"),
        ("--draft-tp", "1", "--draft-ms-per-step", "1"),
        ("--draft-tp", "3"),
        ("--experts", "8,384"),
        ("--inputs",),
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_a_usage_error(call, words):
    assert "Usage: " in call("whatif", "baseline", *words, exit_code=2).output
