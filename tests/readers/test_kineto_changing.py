"""Traces that somebody writes, cuts or deletes while they are read."""

import gzip
import os

import pytest

from tracekit.errors import TraceFormatError
from tracekit.readers import cutting, kineto, layout
from tracekit.readers.plain import Plain

EVENT = b'{"ph":"X","cat":"kernel","name":"k","tid":7,"ts":%d,"dur":1}'
TRACE = b'{"traceEvents":[' + b",".join(EVENT % i for i in range(1, 5000)) + b"]}"
CHANGED = "changed while it was read; copy it again"


@pytest.fixture
def read_while(tmp_path, staged, monkeypatch):
    """Function that reads a trace and calls `change` on its path once its start was found."""
    monkeypatch.setattr(cutting, "SLICE_BYTES", 20_000)
    monkeypatch.setattr(cutting, "HOLD_BYTES", 20_000)
    monkeypatch.setattr(layout, "HOLD_BYTES", 20_000)

    def read(content, change):
        path = tmp_path / "t.json"
        path.write_bytes(content)
        load = kineto._load

        def changing(*given):
            change(path)
            return load(*given)

        monkeypatch.setattr(kineto, "_load", changing)
        return staged(path)

    return read


@pytest.mark.parametrize("size", [0, 100, len(TRACE) // 2, len(TRACE) - 1, 2 * len(TRACE)])
def test_a_file_of_another_size_at_the_end_is_refused(read_while, size):
    with pytest.raises(TraceFormatError, match=f"^t.json: {CHANGED}$"):
        read_while(TRACE, lambda path: os.truncate(path, size))


def test_a_compressed_file_that_shrinks_is_refused(read_while):
    with pytest.raises(TraceFormatError, match=CHANGED):
        read_while(gzip.compress(TRACE), lambda path: os.truncate(path, 50))


def test_a_file_that_shrinks_under_a_query_is_refused(tmp_path, read, monkeypatch):
    def shrinking(lanes, batch):
        os.truncate(tmp_path / "trace.json", 1000)
        load(lanes, batch)

    load = kineto.Lanes.load
    monkeypatch.setattr(kineto.Lanes, "load", shrinking)
    with pytest.raises(TraceFormatError, match=CHANGED):
        read(TRACE)


def test_a_file_that_is_deleted_once_it_is_open_is_read(read_while):
    assert read_while(TRACE, os.remove).file()["events"] == 4999


def test_no_read_gives_less_than_was_there(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(TRACE)
    with path.open("rb") as file:
        plain = Plain(file.fileno(), "t", len(TRACE), is_whole=True)
        os.truncate(path, 100)
        assert plain.read(50, 100) == TRACE[50:100]
        with pytest.raises(TraceFormatError, match=CHANGED):
            plain.read(50, 150)
