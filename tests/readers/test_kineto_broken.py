"""Malformed traces as bug reports describe them: good events are kept, each loss is counted."""

import gzip
import json

import pytest
import zstandard

from tracekit.errors import TraceFormatError

HEAD = b'{"schemaVersion": 1, "traceEvents": ['
TAIL = b'], "traceName": "t.json"}'


def kernel(i):
    return b'{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":2}' % (i, 1000 + i)


def named(name):
    """An operator whose name is put into the file as it is."""
    return b'{"ph":"X","cat":"cpu_op","name":"%s","tid":1,"ts":1500,"dur":1}' % name


def trace(*events):
    return HEAD + b",\n".join(events) + TAIL


def around(event):
    """A good kernel on each side, so that a loss of neighbours would show."""
    return trace(kernel(1), event, kernel(999))


def balanced(staged):
    """Every event is either kept or counted under a reason."""
    ((kept,),) = staged.rows("SELECT count(*) FROM kept")
    return staged.file()["events"] == kept + sum(n for n, _ in staged.ledger().values())


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (rb"torch\cuda\__init__.py(219): f", r"torch\cuda\__init__.py(219): f"),
        (b"a\x01b", "a\x01b"),
        (b"two\nlines", "two\nlines"),
        (b"not \xff\xfe UTF-8", "not \ufffd\ufffd UTF-8"),
        (rb"lone \ud800 surrogate", r"lone \ud800 surrogate"),
    ],
    ids=["raw backslashes", "control character", "newline", "bytes", "lone surrogate"],
)
def test_text_that_is_no_json_is_repaired_and_said_so(read, written, name):
    staged = read(around(named(written)))
    assert staged.names() == ["k1", name, "k999"]
    assert staged.ledger() == {"repaired text": (0, True)}
    assert staged.example("repaired text").startswith("1 events, such as byte 110: {")


@pytest.mark.parametrize("value", [b"inf", b"-inf", b"nan", b"NaN", b"Infinity", b"N/A"])
def test_a_bandwidth_that_is_no_number_costs_no_copy(read, value):
    copy = (
        b'{"ph":"X","cat":"gpu_memcpy","name":"copy","tid":7,"ts":1500,"dur":0,'
        b'"args":{"bytes":4,"memory bandwidth (GB/s)": %s}}' % value
    )
    staged = read(around(copy))
    assert staged.rows("SELECT name, bytes FROM kept WHERE kind = 'memcpy'") == [("copy", 4)]


@pytest.mark.parametrize(
    "event",
    [
        named(b'{"device": "cpu"}(12): run'),
        b'{"ph":"X","cat":"kernel","name":"n",tid": 0,"ts":5,"dur":3}',
        b'{"ph":"X","cat":"kernel","name":"n","ts":,"dur":3}',
        b'{"ph":"X","cat":"kernel","name":"n","ts":0x10,"dur":3}',
    ],
    ids=["quotes", "missing quote", "missing value", "hexadecimal"],
)
def test_an_event_that_is_no_json_is_lost_alone(read, event):
    staged = read(around(event))
    assert staged.names() == ["k1", "k999"]
    assert staged.ledger() == {"not JSON": (1, True)}
    assert staged.example("not JSON") == f"byte 110: {event.decode()}"


def test_places_are_those_of_the_decompressed_file(read):
    staged = read(gzip.compress(around(named(b'"'))), "t.json.gz")
    assert staged.example("not JSON").startswith("byte 110: ")


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_broken_event_at_either_end_is_lost_alone(read, place):
    events = [kernel(1), kernel(2)]
    events.insert(0 if place == "first" else 2, named(b'"'))
    staged = read(trace(*events))
    assert staged.names() == ["k1", "k2"]
    assert staged.ledger() == {"not JSON": (1, True)}


def test_lists_of_objects_survive_beside_a_broken_event(read):
    nested = named(b"l")[:-1] + b',"args":{"a":[{"name":1},{"name":2},{"name":3}]}}'
    staged = read(trace(kernel(1), named(b'"'), nested, kernel(999)))
    assert staged.names() == ["k1", "l", "k999"]
    assert staged.ledger() == {"not JSON": (1, True)}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"dur": -3}, "negative duration"),
        ({"ts": "abc"}, "no start"),
        ({"ts": None}, "no start"),
        ({"ts": {}}, "no start"),
        ({"dur": None}, "no duration"),
        ({"name": None}, "no name"),
        ({"ts": 1e30}, "time out of range"),
        ({"dur": 1e30}, "time out of range"),
        ({"dur": 86_400_000_001}, "time out of range"),
        ({"cat": "mtia_ccp_events"}, "unknown category"),
        ({"cat": None}, "unknown category"),
        ({"ph": "B"}, "unknown phase"),
        ({"ph": None}, "not an event"),
    ],
)
def test_an_event_that_means_nothing_is_skipped_with_its_reason(read, fields, reason):
    event = {"ph": "X", "cat": "kernel", "name": "n", "tid": 7, "ts": 1500, "dur": 1} | fields
    staged = read(around(json.dumps(event).encode()))
    assert staged.names() == ["k1", "k999"]
    assert staged.ledger() == {reason: (1, True)}
    assert staged.example(reason)


def test_sums_of_many_of_the_longest_durations_fit(read):
    day = b'{"ph":"X","cat":"kernel","name":"day","tid":7,"ts":4000000000000000,"dur":86400000000}'
    staged = read(trace(*[day] * 5000))
    assert staged.rows("SELECT sum(dur_ns)::BIGINT FROM kept") == [(5000 * 86_400 * 10**9,)]
    assert staged.rows("SELECT (100000 * max(dur_ns::HUGEINT))::BIGINT FROM kept")


@pytest.mark.parametrize("element", [b"3", b"null", b"[1]", b'"text"'])
def test_an_element_that_is_no_object_is_counted(read, element):
    staged = read(around(element))
    assert staged.names() == ["k1", "k999"]
    assert staged.losses() == {"not an event": 1} or staged.losses() == {"not JSON": 1}
    assert balanced(staged)


def test_an_event_at_time_0_of_an_epoch_file_is_skipped(read):
    zero = b'{"ph":"X","cat":"kernel","name":"zero","tid":7,"ts":0,"dur":0}'
    real = zero.replace(b'"ts":0', b'"ts":1669783687464249').replace(b"zero", b"real")
    staged = read(trace(real, zero))
    assert staged.names() == ["real"]
    assert staged.ledger() == {"start at 0": (1, True)}
    assert staged.file()["window_start_ns"] == 1669783687464249000


def test_time_0_is_a_time_where_others_are_near(read):
    zero = b'{"ph":"X","cat":"kernel","name":"zero","tid":7,"ts":0,"dur":0}'
    assert read(trace(zero, kernel(1))).losses() == {}


def test_kernels_of_seconds_over_the_next_are_kept_with_a_warning(read):
    slow = b'{"ph":"X","cat":"kernel","name":"slow","tid":7,"ts":1000,"dur":1600000}'
    staged = read(trace(slow, kernel(1)))
    assert staged.names() == ["slow", "k1"]
    assert staged.ledger() == {"runs for seconds, over the next on its stream": (0, True)}


def test_a_kernel_of_seconds_alone_on_its_stream_is_no_wonder(read):
    slow = b'{"ph":"X","cat":"kernel","name":"slow","tid":8,"ts":1000,"dur":1600000}'
    assert read(trace(slow, kernel(1))).ledger() == {}


def test_a_start_before_the_launch_is_kept_with_a_warning(read):
    def of(cat, ts):
        return json.dumps(
            {"ph": "X", "cat": cat, "name": cat, "tid": 7, "ts": ts, "dur": 1}
            | {"args": {"correlation": 5}}
        ).encode()

    staged = read(trace(of("cuda_runtime", 12.0), of("kernel", 11.5)))
    assert staged.names() == ["kernel", "cuda_runtime"]
    assert staged.example("starts before its launch") == "1 events; kernel, 500 ns early"


def test_an_argument_that_is_no_number_costs_no_event(read):
    event = json.dumps(
        {"ph": "X", "cat": "kernel", "name": "n", "tid": 7, "ts": 1500, "dur": 1}
        | {"args": {"correlation": 10159970886766084423, "stream": "seven", "device": 1}}
    ).encode()
    staged = read(around(event))
    row = staged.rows("SELECT correlation, stream, device FROM kept WHERE name = 'n'")
    assert row == [(None, 7, 1)]
    assert staged.ledger() == {"argument not a number": (0, True)}
    assert "10159970886766084423" in staged.example("argument not a number")


def test_a_number_above_int64_that_nobody_reads_is_no_fault(read):
    event = named(b"n")[:-1] + b',"args":{"Comms Id":10159970886766084423}}'
    assert read(around(event)).ledger() == {}


def test_of_a_key_that_stands_twice_the_first_counts(read):
    event = named(b"n")[:-1] + b',"args":{"External id":1,"External id":2}}'
    staged = read(around(event))
    assert staged.rows("SELECT external_id FROM kept WHERE name = 'n'") == [(1,)]
    assert staged.ledger() == {}


def test_a_file_cut_within_a_string_keeps_all_before(read):
    whole = trace(*map(kernel, range(10)))
    staged = read(whole[: whole.index(b'k7"') + 1])
    assert staged.names() == [f"k{i}" for i in range(7)]
    assert staged.losses() == {"not JSON": 1, "events cut off": 0}


@pytest.mark.parametrize("end", [b"", b",", b",\n", b"\n"])
@pytest.mark.parametrize("head", [HEAD, b"["], ids=["object", "array"])
def test_an_array_that_is_not_closed_is_read_and_announced(read, head, end):
    staged = read(head + kernel(1) + b",\n" + kernel(2) + end)
    assert staged.names() == ["k1", "k2"]
    assert staged.losses() == {"events cut off": 0}


@pytest.mark.parametrize("end", [b",]", b",\n]\n"])
def test_a_comma_behind_the_last_event_is_no_fault(read, end):
    staged = read(b"[" + kernel(1) + b",\n" + kernel(2) + end)
    assert staged.names() == ["k1", "k2"]
    assert staged.ledger() == {}


def test_gzip_without_its_end_marker_keeps_what_is_there(read):
    staged = read(gzip.compress(trace(*map(kernel, range(9))))[:-8], "t.json.gz")
    assert len(staged.names()) == 9
    assert staged.losses() == {"compressed data cut off": 0}


def test_gzip_cut_within_its_data_keeps_what_is_there(read):
    staged = read(gzip.compress(trace(*map(kernel, range(900))))[:-900], "t.json.gz")
    kept = staged.names()
    assert 100 < len(kept) < 900
    assert kept == [f"k{i}" for i in range(len(kept))]
    assert "compressed data cut off" in staged.losses()
    assert balanced(staged)


def test_metadata_cut_off_behind_the_events_still_gives_base_and_rank(read):
    tail = b'],"baseTimeNanoseconds":1711964646000000000,"distributedInfo":{"rank":5},"x":"ab'
    staged = read(HEAD + kernel(1) + tail)
    file = staged.file()
    assert (file["base_ns"], file["rank"]) == (1711964646000000000, 5)
    assert staged.rows("SELECT start_ns FROM kept") == [(1711964646001001000,)]
    assert staged.losses() == {"metadata not JSON": 0}


def test_a_device_name_with_quotes_costs_no_event(read):
    head = b'{"deviceProperties":[{"name":"a "b" c"}],"baseTimeNanoseconds":1711,"traceEvents":['
    staged = read(head + kernel(1) + b"]}")
    assert staged.file()["base_ns"] == 1711
    assert staged.losses() == {"metadata not JSON": 0}


def test_bytes_of_two_ranks_in_one_file_are_mostly_lost_and_all_counted(read):
    one, other = (trace(*map(kernel, numbers)) for numbers in (range(20), range(100, 120)))
    parts = ((one[i : i + 97], other[i : i + 97]) for i in range(0, len(one), 97))
    staged = read(b"".join(piece for pair in parts for piece in pair))
    assert balanced(staged)
    assert staged.losses()["not JSON"] > 10


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "byte 0: the file is empty"),
        (b" \n", "byte 2: the file is empty"),
        (gzip.compress(b"", mtime=0), "byte 0: the file is empty"),
        (b"hello", "byte 0: neither a JSON object nor an array"),
        (b"null", "byte 0: neither a JSON object nor an array"),
        (b'{"a": 1}', "byte 0: a JSON object without a traceEvents array"),
        (b'{"traceEvents": null}', "byte 0: a JSON object without a traceEvents array"),
        (b"[[1, 2], [3]]", "byte 1: a JSON list of no trace events"),
        (b'["a"]', "byte 1: a JSON list of no trace events"),
        (b'[{"a": 1}, {"b": 2}]', "byte 1: none of 2 elements is a trace event"),
        (HEAD + named(b'"') + TAIL, "byte 37: none of 1 elements is a trace event"),
        (b'{"baseTimeNanoseconds": "x", "traceEvents": []}', "baseTimeNanoseconds is 'x'"),
        (
            gzip.compress(trace(kernel(1)), mtime=0)[:60] + b"\xff" * 60,
            "the compressed data is corrupt",
        ),
        (zstandard.compress(trace(kernel(1)))[:-9] + b"\xff" * 9, "the compressed data is corrupt"),
        (
            trace(b'{"ph":"X","cat":"kernel","name":"n","pid":"[TP00-DP01] 83","ts":1,"dur":1}'),
            "several ranks merged into one; give the files of the ranks",
        ),
    ],
)
def test_what_is_no_trace_is_refused_with_place_and_remedy(read, content, message):
    with pytest.raises(TraceFormatError) as caught:
        read(content, "t.json")
    assert str(caught.value).startswith("t.json: ")
    assert message in str(caught.value)
    assert "; " in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        'it\'s "quoted"',
        "x'); DROP TABLE event; --",
        "two\nlines\ttab",
        "<script>alert(1)</script>",
        "../../etc/passwd",
        "NUL \x00 inside",
        "emoji \U0001f600",
        "$file_id {source} %s {}",
        'a},{"ph":"X"',
        "",
        "long " * 100_000,
    ],
)
def test_names_come_back_as_they_are(read, name):
    event = {"ph": "X", "cat": "kernel", "name": name, "tid": 7, "ts": 1500, "dur": 1}
    for text in (json.dumps(event), json.dumps(event, ensure_ascii=False)):
        staged = read(around(text.encode()))
        assert staged.names() == ["k1", name, "k999"]
        assert staged.ledger() == {}


def test_a_broken_slice_costs_names_nothing(read):
    event = {
        "ph": "X",
        "cat": "kernel",
        "name": "\x00'\"\n\U0001f600",
        "tid": 7,
        "ts": 1500,
        "dur": 1,
    }
    staged = read(trace(kernel(1), json.dumps(event).encode(), named(b'"'), kernel(999)))
    assert staged.names() == ["k1", event["name"], "k999"]


@pytest.mark.parametrize(
    "value", [r'"\ud800 half"', r'"NUL \u0000"', "NaN", "1e999", "-Infinity", "9" * 40]
)
def test_metadata_of_any_kind_is_stored(read, value):
    head = f'{{"host_name": {value}, "other": {value}, "traceEvents": ['.encode()
    staged = read(head + kernel(1) + b"]}")
    assert staged.names() == ["k1"]
    assert set(json.loads(staged.file()["metadata"])) == {"host_name", "other"}
    assert staged.ledger() == {}
