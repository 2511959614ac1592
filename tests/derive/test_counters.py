"""Counters of drafts that cannot be: they go, and the ledger says so."""

from importlib.resources import files

import pytest
from database import add, memory_database

from tracekit.script import run_script

SCRIPT = files("tracekit.derive").joinpath("counters.sql").read_text()


def kept(drafts, draft_tokens, accepted, at_one):
    """Counters and rows of the ledger that are left of a window with such counts."""
    con = memory_database()
    counts = {
        "drafts": drafts,
        "draft_tokens": draft_tokens,
        "accepted_tokens": accepted,
        "accepted_tokens_per_pos": at_one,
    }
    for moment, factor in (("before", 0), ("after", 1)):
        add(con, "counter", "r", name="vllm:prompt_tokens_total", moment=moment, value=0)
        for what, count in counts.items():
            name = f"vllm:spec_decode_num_{what}_total"
            add(con, "counter", "r", name=name, moment=moment, value=factor * count)
    run_script(con, SCRIPT, {"run": "r"})
    (left,) = con.execute("SELECT count(*) FROM counter").fetchone()
    return left, con.execute("SELECT skipped, example, is_loss FROM ledger").fetchall()


def test_counters_that_can_be_are_kept():
    assert kept(10, 30, 30, 10) == (10, [])


@pytest.mark.parametrize("counts", [(10, 30, 31, 10), (10, 30, 20, 11)])
def test_counters_that_cannot_be_go_with_a_word_and_others_stay(counts):
    drafts, draft_tokens, accepted, at_one = counts
    example = (
        f"{accepted} of {draft_tokens} draft tokens accepted, "
        f"{at_one} at one position of {drafts} drafts"
    )
    assert kept(*counts) == (2, [(8, example, True)])
