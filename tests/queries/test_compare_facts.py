"""What two runs are said to have been, by settings or by measurement, and what keeps them apart."""

import json

from comparing import add_run
from database import add, dicts

TIMES = [10_000] * 9


def drafting(con, base, other):
    (row,) = [
        row
        for row in dicts(con, "compare_context", base=base, other=other)
        if row["fact"] == "speculative decoding"
    ]
    return row["base"], row["other"], row["verdict"]


def count_drafts(con, run):
    """Counters of 12 drafts of three tokens."""
    counted = [("num_drafts", "{}", 12), ("num_draft_tokens", "{}", 36)]
    counted += [("num_accepted_tokens", "{}", 18)]
    counted += [
        ("num_accepted_tokens_per_pos", f'{{"position": "{place}"}}', 6) for place in range(3)
    ]
    for name, labels, number in counted:
        for moment, value in (("before", 0), ("after", number)):
            row = {"moment": moment, "labels": labels, "value": value}
            add(con, "counter", run, name=f"vllm:spec_decode_{name}", **row)


def test_drafts_that_no_setting_tells_are_those_that_were_measured(empty):
    add_run(empty, "plain", TIMES)
    add_run(empty, "checked", TIMES, tokens=None)
    add_run(empty, "counted", TIMES)
    count_drafts(empty, "counted")
    assert drafting(empty, "plain", "checked") == ("off", "drafts, K=2", "differs")
    assert drafting(empty, "plain", "counted") == ("off", "drafts, K=3", "differs")
    assert drafting(empty, "checked", "counted") == ("drafts, K=2", "drafts, K=3", "differs")


def test_what_no_run_tells_of_drafts_is_not_the_same(empty):
    for name in ("one", "two"):
        add_run(empty, name, TIMES, tokens=None)
        add_run(empty, f"empty {name}", [])
    add_run(empty, "named", TIMES, speculative_method="eagle3", num_speculative_tokens=2)
    assert drafting(empty, "one", "two") == ("drafts, K=2", "drafts, K=2", "unknown")
    assert drafting(empty, "one", "named") == ("drafts, K=2", "eagle3, K=2", "unknown")
    assert drafting(empty, "empty one", "empty two") == (None, None, "unknown")


def test_runs_of_one_side_that_differ_are_marked(empty):
    add_run(empty, "plain", TIMES)
    for method in ("ngram", "eagle3"):
        add_run(empty, method, TIMES, speculative_method=method, num_speculative_tokens=3)
    rows = dicts(empty, "compare_context", base="plain", other=["eagle3", "ngram"])
    assert [(row["fact"], row["other"]) for row in rows if row["is_mixed"]] == [
        ("speculative decoding", "eagle3, K=3 and ngram, K=3")
    ]


def facts(con, **params):
    rows = dicts(con, "compare_context", base="base", other="other", **params)
    return {row["fact"]: (row["verdict"], row["effect"]) for row in rows}


def test_context_tells_what_forbids_and_what_only_warns(empty):
    options = {"engine_version": "0.32.0", "speculative_method": "eagle3"}
    add_run(empty, "base", TIMES, engine_version="0.31.0", tensor_parallel=2)
    add_run(empty, "other", TIMES, model="models/tiny-moe", gpu=None, **options)
    empty.execute("UPDATE file SET metadata = '{\"with_stack\": 1}' WHERE run = 'other'")
    found = facts(empty)
    assert found["model"] == ("same", "refused")
    assert found["tensor parallel"] == ("differs", "refused")
    assert found["GPU"] == ("unknown", "refused")
    assert found["engine version"] == ("differs", "warned")
    assert found["profiler options"] == ("differs", "warned")
    assert found["speculative decoding"] == ("differs", "noted")


def test_a_model_of_the_same_name_and_another_size_differs(empty):
    for place, (name, layers) in enumerate((("base", 61), ("other", 30)), start=7):
        add_run(empty, name, TIMES)
        config = json.dumps({"hidden_size": 7168, "num_hidden_layers": layers})
        add(empty, "file", name, file_id=place, kind="config", metadata=config)
    found = facts(empty)
    assert found["model"] == ("same", "refused")
    assert found["hidden size"] == ("same", "warned")
    assert found["layers"] == ("differs", "warned")


def test_repeats_that_are_not_alike_differ(empty):
    add_run(empty, "base", TIMES)
    add_run(empty, "other", TIMES)
    add_run(empty, "more", TIMES, model="another")
    rows = dicts(empty, "compare_context", base=["base", "more"], other="other")
    assert ("model", "another and tiny-moe", "tiny-moe", "differs") in [
        (row["fact"], row["base"], row["other"], row["verdict"]) for row in rows
    ]
