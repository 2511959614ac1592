"""Times of calls over ranks, as calibration.json has them."""

import gzip
import importlib
import json
import sys
from itertools import count

import pytest
from scripts import FAKE_TORCH

from tracekit.collectors.bench.allreduce import WORKER


@pytest.fixture
def module(monkeypatch):
    """Imports the worker's modules by the names they have in the user's interpreter."""
    monkeypatch.syspath_prepend(FAKE_TORCH)
    monkeypatch.syspath_prepend(WORKER)
    yield importlib.import_module
    for name in [n for n in sys.modules if n.partition(".")[0] in ("torch", "tracekit_bench")]:
        del sys.modules[name]
    for name in ("tracekit_bench_calls", "tracekit_bench_figures", "tracekit_torch"):
        sys.modules.pop(name, None)


class Ticks:
    """A clock that goes on by one at each mark, and by the delay at each delay."""

    def __init__(self):
        self.now = 0

    def mark(self):
        self.now += 1
        return self.now

    def settle(self):
        pass

    def ns(self, begin, end):
        return end - begin

    def delay(self, ns):
        self.now += ns


@pytest.mark.parametrize(
    ("times", "p50", "p95"),
    [([7], 7, 7), ([2, 1], 1, 2), (range(1, 101), 50, 95), ([1] * 19 + [9], 1, 1)],
)
def test_percentiles_are_times_that_were_measured(module, times, p50, p95):
    found = module("tracekit_bench_figures").figures(times)
    assert found == {"n": len(times), "p50_ns": p50, "p95_ns": p95, "min_ns": min(times)}


def test_a_delay_is_no_part_of_the_calls_but_of_the_whole(module):
    calls, figures = module("tracekit_bench_calls"), module("tracekit_bench_figures")
    two = [calls.Call(8, 1, int), calls.Call(4, 1, int)]
    before = count()
    assert figures.timed(two, 2, Ticks(), before.__next__, delay_ns=100) == [[1, 1, 103]] * 2
    assert next(before) == 2


def test_calls_timed_as_one_have_the_mean(module):
    calls, figures = module("tracekit_bench_calls"), module("tracekit_bench_figures")
    sequence = [calls.Call(8, 1, int), calls.Call(4, 3, int), calls.Call(8, 1, int)]
    table = [[50, 90, 70, 215], [60, 120, 80, 270]]
    assert figures.by_size(sequence, table) == {8: [50, 70, 60, 80], 4: [30] * 3 + [40] * 3}


@pytest.mark.parametrize(
    ("is_split", "runs"),
    [(False, [(8, 1), (4, 2), (8, 1)]), (True, [(8, 1), (4, 1), (4, 1), (8, 1)])],
)
def test_equal_calls_in_a_row_are_one_graph_unless_delays_part_them(module, is_split, runs):
    found = module("tracekit_bench_calls").runs_of([8, 4, 4, 8], is_split)
    assert list(found) == runs


def test_what_is_recorded_before_the_first_step_is_in_none(module, tmp_path):
    recording = module("tracekit_bench").StepRecording(shapes=True)
    recording.start()
    assert recording.n_steps == 0
    for _ in range(2):
        recording.step()
    recording.stop()
    assert recording.n_steps == 2
    with gzip.open(recording.write(tmp_path)) as file:
        events = json.load(file)["traceEvents"]
    assert sum(event["name"].startswith("ProfilerStep") for event in events) == 2
