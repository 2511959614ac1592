"""Good traces in every form that profilers have written since 2021."""

import gzip
import json
from decimal import Decimal

import pytest
import zstandard

KERNEL = {
    "ph": "X",
    "cat": "kernel",
    "name": "gemm",
    "pid": 0,
    "tid": 7,
    "ts": 4909914679591.525,
    "dur": 5.527,
    "args": {
        "External id": 12,
        "device": 3,
        "stream": 7,
        "correlation": 99,
        "grid": [1, 2, 3],
        "block": [256, 1, 1],
        "graph id": 5,
        "graph node id": 6,
        "Collective name": "allreduce",
    },
}
COPY = {
    "ph": "X",
    "cat": "gpu_memcpy",
    "name": "Memcpy HtoD",
    "tid": 7,
    "ts": 4909914679600.001,
    "dur": 0,
    "args": {"device": 3, "stream": 7, "correlation": 100, "bytes": 4096},
}
FLOW = {"ph": "s", "id": 99, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"}
EVENTS = [KERNEL, FLOW, COPY]
MEMBERS = {"baseTimeNanoseconds": 1719853884000000000, "distributedInfo": {"rank": 3}}


def event(cat, name="e", ts=10, dur=1, **more):
    return {"ph": "X", "cat": cat, "name": name, "tid": 1, "ts": ts, "dur": dur} | more


def kinds(staged):
    return staged.rows("SELECT name, kind::VARCHAR FROM kept ORDER BY name")


def packed(form):
    text = json.dumps({"traceEvents": EVENTS}).encode()
    return {
        "trace.json": text,
        "trace.json.gz": gzip.compress(text),
        "two_members.json.gz": gzip.compress(text[:100]) + gzip.compress(text[100:]),
        "garbage_behind.json.gz": gzip.compress(text) + b"\0\0garbage",
        "trace.json.zst": zstandard.ZstdCompressor().compress(text),
        "gzip_by_content.json": gzip.compress(text),
        "byte_order_mark.json": b"\xef\xbb\xbf" + text,
    }[form]


@pytest.mark.parametrize(
    "trace",
    [
        MEMBERS | {"traceEvents": EVENTS},
        {"traceEvents": EVENTS} | MEMBERS,
        {"schemaVersion": 1, "traceEvents": EVENTS, "deviceProperties": [{"id": 0}, {"id": 1}]}
        | MEMBERS,
    ],
    ids=["members before", "members after", "both"],
)
def test_every_field_of_an_event_is_exact(read, trace):
    staged = read(trace)
    assert staged.rows("SELECT * EXCLUDE (id) FROM device_event ORDER BY start_ns") == [
        (0, "kernel", "gemm", 1719853884000000000 + 4909914679591525, 5527)
        + (3, 7, 99, 12, 5, 6, "[1,2,3]", "[256,1,1]", None, "allreduce"),
        (0, "memcpy", "Memcpy HtoD", 1719853884000000000 + 4909914679600001, 0)
        + (3, 7, 100, None, None, None, None, None, 4096, None),
    ]
    assert staged.ledger() == {"flow": (1, False)}


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "indented"])
def test_a_bare_array_is_a_trace(read, indent):
    staged = read(json.dumps(EVENTS, indent=indent))
    assert staged.names() == ["gemm", "Memcpy HtoD"]
    assert staged.file()["base_ns"] is None


@pytest.mark.parametrize(
    "form",
    [
        "trace.json",
        "trace.json.gz",
        "two_members.json.gz",
        "garbage_behind.json.gz",
        "trace.json.zst",
        "gzip_by_content.json",
        "byte_order_mark.json",
    ],
)
def test_a_file_is_read_by_what_it_holds(read, form):
    staged = read(packed(form), form)
    assert staged.names() == ["gemm", "Memcpy HtoD"]
    assert staged.file()["bytes"] == len(packed(form))
    assert staged.losses() == {}


@pytest.mark.parametrize(
    ("ts", "start_ns"),
    [
        ("1669783687464249", 1669783687464249000),
        ("1711964646000000.123", 1711964646000000123),
        ("4909914679591.525", 4909914679591525),
        ("1.5e3", 1500000),
        ('"1669783687520280.123"', 1669783687520280123),
    ],
    ids=["whole us", "epoch float", "relative", "exponent", "text"],
)
def test_no_form_of_ts_is_rounded(read, ts, start_ns):
    # Each would be as BIGINT, DOUBLE or VARCHAR in DuckDB's JSON reader, without a word.
    staged = read(f'[{{"ph":"X","cat":"kernel","name":"k","tid":7,"ts":{ts},"dur":0.001}}]')
    assert staged.rows("SELECT start_ns, dur_ns FROM kept") == [(start_ns, 1)]


@pytest.mark.parametrize(("dur", "grain_ns"), [(2, 1000), (2.5, 1)])
def test_the_grain_is_that_of_the_file(read, dur, grain_ns):
    assert read([event("kernel", dur=dur)]).file()["grain_ns"] == grain_ns


@pytest.mark.parametrize(
    ("cat", "kind"),
    [
        ("kernel", "kernel"),
        ("gpu_memcpy", "memcpy"),
        ("gpu_memset", "memset"),
        ("cuda_runtime", "call"),
        ("cuda_driver", "call"),
        ("xpu_runtime", "call"),
        ("privateuse1_runtime", "call"),
        ("privateuse1_driver", "call"),
        ("cpu_op", "op"),
        ("user_annotation", "scope"),
        ("gpu_user_annotation", "device_scope"),
        ("Kernel", "kernel"),
        ("Memcpy", "memcpy"),
        ("Memset", "memset"),
        ("Runtime", "call"),
        ("Operator", "op"),
    ],
)
def test_each_category_is_a_kind(read, cat, kind):
    assert kinds(read([event(cat)])) == [("e", kind)]


def test_a_trace_of_2021_links_kernels_by_external_id(read):
    staged = read(
        [
            event("Operator", "op", args={"External id": 4}),
            event("Kernel", "kernel", tid="stream 7", args={"external id": 4, "stream": "7"}),
        ]
    )
    assert staged.rows("SELECT name, external_id, thread, stream FROM kept ORDER BY name") == [
        ("kernel", 4, None, 7),
        ("op", 4, 1, None),
    ]


def test_text_for_a_thread_is_a_number_of_its_own(read):
    tids = ["PyTorch Profiler", "other", "PyTorch Profiler"]
    staged = read([event("cpu_op", f"e{i}", ts=i + 1, tid=tid) for i, tid in enumerate(tids)])
    first, second, third = staged.rows("SELECT thread FROM kept ORDER BY name")
    assert first == third != second


def test_a_device_event_without_a_stream_runs_on_its_tid(read):
    staged = read([event("gpu_user_annotation", tid=9), event("cpu_op", tid=9)])
    assert sorted(staged.rows("SELECT kind::VARCHAR, stream FROM kept")) == [
        ("device_scope", 9),
        ("op", None),
    ]


def test_what_is_not_needed_is_counted_and_no_loss(read):
    unneeded = [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "x"}},
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1},
        {"ph": "C", "name": "c", "ts": 1, "args": {"v": 1}},
        event("python_function"),
        event("overhead"),
        event("cuda_sync"),
        event("cuda_profiler_range"),
        FLOW | {"ph": "f"},
        FLOW,
    ]
    staged = read([event("kernel"), *unneeded])
    assert staged.losses() == {}
    assert {reason: n for reason, (n, _) in staged.ledger().items()} == {
        "metadata": 1,
        "instant": 1,
        "counter": 1,
        "python_function": 1,
        "overhead": 1,
        "cuda_sync": 1,
        "cuda_profiler_range": 1,
        "flow": 2,
    }
    assert staged.file()["events"] == 10


def test_the_window_is_the_profilers_span(read):
    span = event("Trace", "PyTorch Profiler (0)", ts=5, dur=100)
    other = event("Trace", "__cupti_profiler__ (0)", ts=1, dur=900)
    window = read([event("kernel", ts=10), span, other]).file()
    assert (window["window_start_ns"], window["window_end_ns"]) == (5000, 105000)


def test_without_a_span_the_window_is_that_of_the_events(read):
    window = read([event("kernel", ts=10, dur=5), event("cpu_op", ts=2)]).file()
    assert (window["window_start_ns"], window["window_end_ns"]) == (2000, 15000)


@pytest.mark.parametrize("events", [[], [{"ph": "M", "name": "process_name", "pid": 1}]])
def test_a_trace_without_work_is_a_trace(read, events):
    file = read({"traceEvents": events} | MEMBERS).file()
    assert (file["events"], file["rank"], file["window_start_ns"]) == (len(events), 3, None)


def test_metadata_is_kept_but_for_the_events(read):
    file = read({"a": 1, "traceEvents": EVENTS, "host_name": "node-a", "b": "ü"}).file()
    assert json.loads(file["metadata"]) == {"a": 1, "host_name": "node-a", "b": "ü"}
    assert file["host_name"] == "node-a"


def test_objects_in_args_and_metadata_do_not_end_an_event(read):
    nested = event("cpu_op", args={"list": [{"name": "a"}, {"name": "b"}, {"ts": 1}]})
    staged = read(
        {"traceEvents": [event("kernel"), nested], "more": [{"name": "c"}, {"name": "d"}]}
    )
    assert staged.file()["events"] == 2
    assert staged.losses() == {}


def test_progress_ends_with_all_bytes(read):
    seen = []
    read(EVENTS, progress=lambda done, total: seen.append((done, total)))
    size = len(json.dumps(EVENTS))
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    "times",
    [
        ["8796093022207.999", "8796093022207.001", "4458676522690.655"],  # below 2^43: as DOUBLE
        ["8796093022208.001", "8796093022208.047"],  # above: neighbours are two ns apart
        ["1712195495519689.047", "1712195495519695.812"],  # since the epoch, with decimals
        ["1712195495519689", "1712195495519695"],
        ["4000000000000000", "-4000000000000000", "-0.001"],
        ["1712195495519689", *["1712195495519690"] * 3, "1712195495519691.5"],  # a late decimal
        ["12.5", "1712195495519691.047"],  # small at first
        # On both sides of where 18 digits are enough, from zero and from 2033.
        ["999999999999999.999", "1000000000000000", "1000000000000000.001"],
        ["2999999999999999.999", "3000000000000000", "3000000000000000.001"],
        ["-999999999999999.999", "-1000000000000000", "-1000000000000000.001"],
    ],
)
def test_times_are_exact_however_they_are_written(read, times):
    events = ",".join(
        f'{{"ph":"X","cat":"kernel","name":"k","tid":7,"ts":{ts},"dur":0.001}}' for ts in times
    )
    staged = read(f'{{"traceEvents":[{events}]}}'.encode())
    assert staged.rows("SELECT start_ns FROM kept ") == [(int(Decimal(ts) * 1000),) for ts in times]
