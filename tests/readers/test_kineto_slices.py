"""Large traces: cut into slices, read while they are inflated, in bounded memory."""

import gzip
import json

import pytest

from tracekit.readers import cutting, kineto, layout
from tracekit.readers.boundary import next_boundary
from tracekit.readers.cutting import Cutter
from tracekit.readers.plain import opened
from tracekit.readers.slices import Slice, SliceFileSystem

EVENTS = 3000


def events(n=EVENTS):
    for i in range(n):
        nested = {"list": [{"name": "inner"}, {"name": "inner", "ts": 1}]}
        yield {"ph": "X", "cat": "kernel", "name": f"k{i}", "tid": 7, "ts": i + 1, "dur": 1} | (
            {"args": nested} if i % 3 == 0 else {}
        )


@pytest.fixture(params=["compact", "indented", "array", "metadata behind"])
def text(request):
    behind = {"deviceProperties": [{"id": i, "name": "GPU"} for i in range(500)]}
    trace = {
        "compact": {"traceEvents": list(events())},
        "indented": {"a": 1, "traceEvents": list(events())},
        "array": list(events()),
        "metadata behind": {"traceEvents": list(events())} | behind,
    }[request.param]
    return json.dumps(trace, indent=2 if request.param == "indented" else None).encode()


@pytest.fixture
def small_slices(monkeypatch):
    """Slices of some kilobytes, so that a small file has many."""
    monkeypatch.setattr(cutting, "SLICE_BYTES", 3000)
    monkeypatch.setattr(cutting, "HOLD_BYTES", 50_000)
    monkeypatch.setattr(cutting, "_MIN_SLICE_BYTES", 3000)
    monkeypatch.setattr(layout, "HOLD_BYTES", 50_000)
    monkeypatch.setattr(layout, "_TAIL_BYTES", 1000)


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
@pytest.mark.usefixtures("small_slices")
def test_no_event_is_lost_or_doubled_at_a_cut(read, text, name):
    staged = read(gzip.compress(text) if name.endswith("gz") else text, name)
    assert staged.rows("SELECT count(*), count(DISTINCT name), sum(dur_ns) FROM kept") == [
        (EVENTS, EVENTS, EVENTS * 1000)
    ]
    assert staged.ledger() == {}


@pytest.mark.usefixtures("small_slices")
def test_chunks_add_up_to_the_file(read, monkeypatch):
    kinds = ("kernel", "gpu_memcpy", "cuda_runtime", "cpu_op", "user_annotation", "python_function")
    mixed = [event | {"cat": kinds[i % len(kinds)]} for i, event in enumerate(events())]
    mixed += [{"ph": "X", "cat": "kernel", "name": "zero", "tid": 7, "ts": 0, "dur": 1}]
    for event in mixed[:-1]:
        event["ts"] += 10**10  # hours after 0, so that `zero` is out of order
    behind = {"baseTimeNanoseconds": 10**18}
    content = json.dumps({"traceEvents": mixed} | behind)
    whole = read(content)
    monkeypatch.setattr(kineto, "_CHUNK_BYTES", 5000)
    chunked = read(content)
    query = "SELECT * EXCLUDE (id) FROM kept ORDER BY start_ns"
    assert len(whole.rows(query)) == EVENTS // 6 * 5
    assert chunked.rows(query) == whole.rows(query)
    assert chunked.ledger() == whole.ledger()
    assert chunked.ledger() == {
        "python_function": (EVENTS // 6, False),
        "start at 0": (1, True),
    }
    assert chunked.file() == whole.file()
    assert chunked.rows("SELECT count(DISTINCT id) = count(*) FROM device_event") == [(True,)]


@pytest.mark.usefixtures("small_slices")
def test_slices_are_whole_events_and_cover_all(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_bytes(text)
    with opened(path, "t.json", tmp_path) as plain:
        start = layout.find_start(plain)
        cutter = Cutter(plain, start.offset, is_object=start.members is not None, n_parts=2)
        parts = [json.loads(b"[" + plain.read(s.start, s.end) + b"]") for s in cutter]
    assert len(parts) > 20
    assert [event["name"] for part in parts for event in part] == [f"k{i}" for i in range(EVENTS)]


@pytest.mark.usefixtures("small_slices")
def test_one_broken_event_among_many_slices_costs_one(read, text):
    broken = text.replace(b'"k1500"', b'"k"1500"')
    staged = read(broken)
    assert staged.rows("SELECT count(DISTINCT name) FROM kept") == [(EVENTS - 1,)]
    assert staged.losses() == {"not JSON": 1}
    place = broken.rindex(b"{", 0, broken.index(b'"k"1500"'))
    assert staged.example("not JSON").startswith(f"byte {place}: ")


def test_a_cut_is_never_within_the_args_of_an_event(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(list(events(2)))[1:-1])
    with opened(path, "t.json", tmp_path) as plain:
        end, following = next_boundary(plain, 1, plain.size)
        assert json.loads(plain.read(0, end))["name"] == "k0"
        assert json.loads(plain.read(following, plain.size))["name"] == "k1"


def test_a_slice_is_a_file_of_one_array(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b"[1, 22, 333]")
    with opened(path, "t.json", tmp_path) as plain:
        slices = SliceFileSystem(plain, 5)
        url = slices.url(Slice(4, 11))
        file = slices.open(url)
        assert b"".join(iter(lambda: file.read(2), b"")) == b"[22, 333]"
        assert slices.info(url)["size"] == file.tell() == 9
        assert file.seek(1) == 1
        assert file.read(100) == b"22, 333"


def test_members_larger_than_one_read_are_found(read):
    big = {"log": ["x" * 1000] * 3000}
    staged = read(big | {"traceEvents": list(events(5))} | {"behind": big})
    assert staged.file()["events"] == 5
    assert json.loads(staged.file()["metadata"]) == big | {"behind": big}


def test_nothing_is_left_in_the_scratch_folder(read, tmp_path):
    read(gzip.compress(json.dumps(list(events(5))).encode()), "t.json.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["t.json.gz"]
