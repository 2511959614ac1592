"""The scaler of the benchmarks: copies are whole, later, and have ids of their own."""

import gzip
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

SCALE = Path(__file__).resolve().parents[2] / "benchmarks" / "scale.py"
PROCESS = '{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 7, "args": {}}'
LAUNCH = (
    '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 100.250, "dur": 2.5,'
    ' "args": {"External id": 5, "correlation": 9}}'
)
KERNEL = (
    '{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 103.125, "dur": 40,'
    ' "args": {"External id": 0, "correlation": 9, "stream": 7}}'
)
FLOW = '{"ph": "s", "id": 9, "ts": 100.250, "cat": "ac2g"}'
EVENTS = f"[\n  {PROCESS},\n  {LAUNCH}, {KERNEL},\n  {FLOW}\n  ]"
TRACE = f'{{"schemaVersion": 1, "traceEvents": {EVENTS}, "baseTimeNanoseconds": 17, "id": 3}}'
TWO_COPIES = (len(TRACE) + 100) / 1e6


def scale(folder, text, mb=TWO_COPIES, name="out.json"):
    (folder / "in.json").write_text(text)
    out = folder / name
    command = [sys.executable, str(SCALE), str(folder / "in.json"), str(out), "--mb", str(mb)]
    return out, subprocess.run(command, capture_output=True, text=True)


def scaled(folder, text, mb=TWO_COPIES):
    out, done = scale(folder, text, mb)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text(), parse_float=Decimal)


def events_named(events, name):
    return [event for event in events if event.get("name") == name]


def test_metadata_before_and_after_the_events_stay(tmp_path):
    trace = scaled(tmp_path, TRACE)
    assert list(trace) == ["schemaVersion", "traceEvents", "baseTimeNanoseconds", "id"]
    assert (trace["baseTimeNanoseconds"], trace["id"]) == (17, 3)


def test_the_bare_array_form_stays_an_array(tmp_path):
    assert len(scaled(tmp_path, EVENTS)) == 1 + 2 * 3


def test_metadata_events_stand_once_and_unchanged(tmp_path):
    events = scaled(tmp_path, TRACE)["traceEvents"]
    assert events_named(events, "process_name") == [json.loads(PROCESS)]


def test_a_copy_begins_after_the_one_before_ended(tmp_path):
    events = scaled(tmp_path, TRACE)["traceEvents"]
    launches, kernels = events_named(events, "cudaLaunchKernel"), events_named(events, "gemm")
    assert launches[1]["ts"] > kernels[0]["ts"] + kernels[0]["dur"]


def test_times_within_a_copy_keep_their_distance_and_digits(tmp_path):
    events = scaled(tmp_path, TRACE)["traceEvents"]
    launches, kernels = events_named(events, "cudaLaunchKernel"), events_named(events, "gemm")
    distances = [k["ts"] - la["ts"] for k, la in zip(kernels, launches, strict=True)]
    assert distances == [Decimal("2.875")] * 2
    assert str(launches[1]["ts"]).endswith(".250")


def test_each_copy_has_ids_of_its_own_and_its_links_hold(tmp_path):
    first, second = split(scaled(tmp_path, TRACE)["traceEvents"][1:])
    for launch, kernel, flow in (first, second):
        assert launch["args"]["correlation"] == kernel["args"]["correlation"] == flow["id"]
    assert first[0]["args"]["correlation"] != second[0]["args"]["correlation"]
    assert first[0]["args"]["External id"] != second[0]["args"]["External id"]


def split(events):
    assert len(events) == 6
    return events[:3], events[3:]


def test_an_id_of_zero_means_none_and_stays(tmp_path):
    kernels = events_named(scaled(tmp_path, TRACE)["traceEvents"], "gemm")
    assert [kernel["args"]["External id"] for kernel in kernels] == [0, 0]


def test_a_name_that_looks_like_a_time_comes_back_verbatim(tmp_path):
    name = 'say "ts": 5, }, {"ph": "X", "id": 6'
    trace = TRACE.replace('"gemm"', json.dumps(name))
    assert len(events_named(scaled(tmp_path, trace)["traceEvents"], name)) == 2


def test_what_it_says_is_what_it_wrote(tmp_path):
    out, done = scale(tmp_path, TRACE, mb=0.01)
    events = json.loads(out.read_text())["traceEvents"]
    said = json.loads(done.stdout)
    assert said["plain_bytes"] == out.stat().st_size >= 10_000
    assert said["events"] == len(events) == 1 + 3 * said["copies"]


def test_a_small_goal_gives_the_trace_itself(tmp_path):
    assert scaled(tmp_path, TRACE, mb=0) == json.loads(TRACE, parse_float=Decimal)


def test_gz_holds_the_same_bytes(tmp_path):
    plain, _ = scale(tmp_path, TRACE)
    packed, _ = scale(tmp_path, TRACE, name="out.json.gz")
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


def test_a_gz_is_read_too(tmp_path):
    expected = scaled(tmp_path, TRACE)
    source, out = tmp_path / "in.json.gz", tmp_path / "from_gz.json"
    source.write_bytes(gzip.compress(TRACE.encode()))
    command = [sys.executable, str(SCALE), str(source), str(out), "--mb", str(TWO_COPIES)]
    subprocess.run(command, check=True, capture_output=True)
    assert json.loads(out.read_text(), parse_float=Decimal) == expected


@pytest.mark.parametrize("text", ['{"schemaVersion": 1}', f"[{PROCESS}]"])
def test_a_file_with_nothing_to_repeat_is_refused(tmp_path, text):
    _, done = scale(tmp_path, text)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "in.json: no" in done.stderr
