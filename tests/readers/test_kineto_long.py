"""Events and members of many megabytes: lost one by one, never read whole. Here of kilobytes."""

import gzip
import json

import duckdb
import pytest

from tracekit.errors import TraceFormatError
from tracekit.readers import boundary, cutting, lanes, layout, metadata

LIMIT = 20_000
HEAD = b'{"distributedInfo":{"rank":3},"traceEvents":['


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    """All sizes a thousandth or less of what they are."""
    monkeypatch.setattr(boundary, "_WINDOW_BYTES", 2000)
    monkeypatch.setattr(boundary, "_OVERLAP_BYTES", 500)
    monkeypatch.setattr(cutting, "SLICE_BYTES", LIMIT - 2000)
    monkeypatch.setattr(cutting, "EVENT_BYTES", LIMIT)
    monkeypatch.setattr(cutting, "HOLD_BYTES", LIMIT)
    monkeypatch.setattr(cutting, "_LONG_BYTES", 1000)
    monkeypatch.setattr(cutting, "_MIN_SLICE_BYTES", 1000)
    monkeypatch.setattr(lanes, "_HEAD_BYTES", 4000)
    monkeypatch.setattr(lanes, "_SALVAGE_BYTES", 4000)
    monkeypatch.setattr(layout, "HOLD_BYTES", LIMIT)
    monkeypatch.setattr(layout, "_TAIL_BYTES", 1000)
    monkeypatch.setattr(metadata, "MAX_BYTES", LIMIT)


def kernel(i, text=""):
    return json.dumps(
        {"ph": "X", "cat": "kernel", "name": f"k{i}", "tid": 7, "ts": 1000 + i, "dur": 1}
        | {"args": {"text": text}}
    ).encode()


def trace(*events, behind=b""):
    return HEAD + b", ".join(events) + b"]" + behind + b"}"


FEW = [kernel(i) for i in range(5)]
MANY = [kernel(i) for i in range(2000)]


@pytest.mark.parametrize("size", [1.1, 3, 10])
@pytest.mark.parametrize(
    ("before", "n_after"),
    [([], 1), ([], 2000), (FEW, 0), (FEW, 1), (FEW, 2000), (MANY, 0), (MANY, 1), (MANY, 2000)],
    ids=lambda value: str(len(value) if isinstance(value, list) else value),
)
def test_an_event_too_long_is_lost_alone(read, before, n_after, size):
    long = kernel(5000, "x" * int(LIMIT * size))
    content = trace(*before, long, *(kernel(6000 + i) for i in range(n_after)))
    staged = read(content)
    assert staged.losses() == {"event too long": 1}
    assert len(staged.names()) == len(before) + n_after == staged.file()["events"] - 1
    assert staged.example("event too long").startswith(
        f'byte {content.index(long)}: {{"ph": "X", "cat": "kernel", "name": "k5000"'
    )
    assert staged.file()["rank"] == 3


def test_an_event_within_the_limit_is_kept(read):
    staged = read(trace(*MANY, kernel(5000, "x" * (LIMIT - 1000)), kernel(5001)))
    assert len(staged.names()) == 2002
    assert staged.ledger() == {}


def test_each_of_several_is_counted(read):
    long = kernel(5000, "x" * 2 * LIMIT)
    staged = read(trace(*FEW, long, long, kernel(6), long, *MANY))
    assert staged.losses() == {"event too long": 3}
    assert len(staged.names()) == 2006


@pytest.mark.parametrize("filler", [b" ", b"a", b'[{"ph":'])
def test_what_has_no_boundary_is_never_read_whole(read, monkeypatch, filler):
    sizes = []
    original = lanes.Plain.read

    def measured(plain, start, end):
        sizes.append(end - start)
        return original(plain, start, end)

    monkeypatch.setattr(lanes.Plain, "read", measured)
    monkeypatch.setattr(layout, "_HEAD_BYTES", 1000)
    bomb = HEAD + b",".join(FEW) + b"," + filler * (100 * LIMIT // len(filler)) + b"]}"
    staged = read(gzip.compress(bomb), "t.json.gz")
    assert staged.losses() == {"event too long": 1}
    assert staged.names() in ([f"k{i}" for i in range(5)], [f"k{i}" for i in range(4)])
    assert max(sizes) <= 5 * LIMIT


def test_a_file_of_one_event_too_long_is_refused(read):
    with pytest.raises(TraceFormatError, match="none of 1 elements is a trace event"):
        read(HEAD + b"a" * 10 * LIMIT + b"]}")


@pytest.mark.parametrize("size", [1.1, 3, 10])
@pytest.mark.parametrize("events", [FEW, MANY], ids=["few", "many"])
def test_members_too_long_behind_the_events_cost_only_themselves(read, events, size):
    text = b', "baseTimeNanoseconds": 1711000000000000000, "x": "%s"' % (b"y" * int(LIMIT * size))
    staged = read(trace(*events, behind=text))
    assert len(staged.names()) == len(events)
    assert staged.losses() == {"metadata not JSON": 0}
    assert staged.file()["rank"] == 3
    assert staged.file()["base_ns"] == 1711000000000000000


def test_white_space_behind_the_trace_is_nothing(read):
    staged = read(trace(*FEW) + b"\n" * 10 * LIMIT)
    assert len(staged.names()) == 5
    assert staged.ledger() == {}


def test_an_event_that_takes_too_much_memory_is_lost_alone(read, monkeypatch):
    original = lanes.Lanes._insert

    def failing(self, source, values):
        if any("k3" in text for text in values.get("texts", ["k3"])):
            raise duckdb.OutOfMemoryException("no")
        original(self, source, values)

    monkeypatch.setattr(lanes.Lanes, "_insert", failing)
    events = [*FEW]
    events[3] = kernel(3, "x" * 5000)
    staged = read(trace(*events))
    assert staged.names() == ["k0", "k1", "k2", "k4"]
    assert staged.losses() == {"event too long": 1}


def test_too_little_memory_for_short_events_is_no_fault_of_theirs(read, monkeypatch):
    def failing(self, source, values):
        raise duckdb.OutOfMemoryException("no")

    monkeypatch.setattr(lanes.Lanes, "_insert", failing)
    with pytest.raises(duckdb.OutOfMemoryException):
        read(trace(*FEW))
