"""How well the rules do on real names; skips where ../shared is absent."""

import csv
import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from name_classes import classes

from tracekit.rules import builtin_rules, exact_names

SHARED = Path(__file__).parents[3] / "shared"
EXAMPLES = SHARED / "facts" / "kernel_examples.tsv"
TRACES = SHARED / "traces" / "public"
DEVICE_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
SERVING = ("vllm", "sglang")
# Words of the example list for what tracekit calls otherwise.
RENAMED = {
    "ep_dispatch": "all_to_all",
    "ep_combine": "all_to_all",
    "nvshmem": "all_to_all",
    "moe_act": "activation",
    "collective_unknown": "collective_other",
}


@pytest.fixture
def con():
    with duckdb.connect() as connection:
        yield connection


def examples_held_out(is_by_path):
    if not EXAMPLES.exists():
        pytest.skip("no ../shared")
    with EXAMPLES.open() as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return {
        name: RENAMED.get(category, category)
        for name, category, subcategory, _ in rows
        if (subcategory == "by_path") == is_by_path
        and hashlib.sha256(name.encode()).digest()[0] % 3 == 0
    }


def test_rules_alone_class_names_held_out_while_they_were_written(con):
    expected = examples_held_out(is_by_path=False)
    got = classes(con, list(expected), builtin_rules())
    right = [name for name, category in expected.items() if got[name][0] == category]
    assert len(right) / len(expected) >= 0.97


def test_names_classed_by_their_folder_are_right_with_the_exact_list(con):
    expected = examples_held_out(is_by_path=True)
    got = classes(con, list(expected), [*exact_names(), *builtin_rules()])
    wrong = [name for name, category in expected.items() if got[name][0] != category]
    assert wrong in ([], ["_shuffle_weighted_sum_kernel"])  # sums experts: moe_combine


def public_traces():
    return sorted(TRACES.rglob("*.json.gz")) if TRACES.exists() else []


@pytest.mark.parametrize("path", public_traces(), ids=lambda path: path.name)
def test_little_time_of_public_traces_is_unknown(con, path):
    document = json.loads(gzip.decompress(path.read_bytes()))
    events = document if isinstance(document, list) else document["traceEvents"]
    time = Counter()
    for event in events:
        if event.get("cat") in DEVICE_CATEGORIES and event["ph"] == "X":
            time[event["name"]] += event["dur"]
    if not time:
        pytest.skip("no device events")
    got = classes(con, list(time), [*exact_names(), *builtin_rules()])
    unsaid = sum(spent for name, spent in time.items() if got[name][0] in ("unknown", "other"))
    is_serving = str(path.relative_to(TRACES)).startswith(SERVING)
    assert unsaid / time.total() < (0.02 if is_serving else 0.05)
