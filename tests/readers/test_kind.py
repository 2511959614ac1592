import gzip
import json

import pytest
import zstandard

from tracekit.readers.kind import kind_of, load_json, read_text

EVENT = '{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {}}'
NCCL = "node-a:1001:1015 [0] NCCL INFO Bootstrap: Using eth0\n"
VLLM = "(APIServer pid=1) INFO 11-29 12:03:56 [api_utils.py:286] non-default args: {}\n"
SGLANG = "[2025-11-06 01:22:00] server_args=ServerArgs(model_path='m', tp_size=8)\n"

TEXTS = {
    "trace": [
        '{"traceEvents": []}',
        '\ufeff \n{\n "schemaVersion": 1,\n "deviceProperties": [ {',
        '{"distributedInfo": {"rank": 0}, "other": "' + "x" * 100_000,
        '{"x": 1, "traceEvents": [' + EVENT,
        f"[\n {EVENT},\n {EVENT}",
        '[{"args": {"a": [{}]}, "ph": "X"}]',
    ],
    "metrics": [
        "# HELP up Whether it is.\nup 1\n",
        "# TYPE up gauge\nup 1\n",
        'vllm:tokens_total{engine="0",model="a b"} 1.5e+07\n',
        "up NaN 1795953855\n",
        "up 1\n# TYPE a gauge\na 1\n",
    ],
    "server_log": [
        VLLM,
        "Triton is installed\n" + VLLM,
        "INFO 07-15 10:00:00 api_server.py:712] vLLM API server version 0.8.5\n",
        SGLANG,
        "[2025-11-06 01:22:00 TP0] Load weight begin. avail mem=78.31 GB\n",
        VLLM + NCCL,
        "took 4\n" + VLLM,
    ],
    "nccl_log": [
        NCCL,
        "NCCL version 2.27.5+cuda12.9\n",
        "obalrank 1\n" + NCCL * 60,
        "\nnode-a:1003:1003 [3] net.cc:100 NCCL WARN Cuda failure 1 'invalid argument'\n",
        "[2026-01-02 03:04:05] n:1:1 [1] a/b.cc:2 (f) NCCL WARN Cuda failure 719\n",
        "node-a:1001:1001 NCCL CALL ncclAllReduce(0x7f,0x7f,1024,9,0,0,0x55,0x55)\n",
    ],
    "load": ['{"request": 0, "prompt": 1, "start_ns": 17, "first_chunk_ns": null}\n{"request": 1'],
    "gpu_samples": [
        "timestamp, index, clocks.current.sm [MHz]\n",
        "index,timestamp\n2026/11/29 12:03:32.123, 0\n",
    ],
    "run_json": ['{"command": ["vllm", "serve", "m"]}', '{"name": "x", "cmd": []}'],
    "config": ['{"model_type": "llama"}', '{"architectures": ["LlamaForCausalLM"]}'],
    "other": [
        "",
        "\n\n",
        "hello",
        "{",
        "[]",
        '[["a", 1], {"name": "no event"}]',
        '{"schemaVersion": 2, "mediaType": "manifest"}',
        "prose\n" * 60 + VLLM,
        "obalrank 1\nprose\n",
        "[" * 60_000,
        '{"command": "vllm serve"}',
        '{"model_type": NaN}',
        "a" * 300_000,
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(k, t) for k, texts in TEXTS.items() for t in texts])
def test_kind_is_told_by_content(tmp_path, kind, text):
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    assert kind_of(path) == kind


def test_file_called_run_json_is_one_without_a_command(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"init_s": 3.0}')
    assert kind_of(path) == "run_json"
    path.write_text("[1]")
    assert kind_of(path) == "other"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize(("kind", "text"), [(k, texts[0]) for k, texts in TEXTS.items()])
def test_compression_does_not_matter_for_text(tmp_path, pack, kind, text):
    path = tmp_path / "file"
    path.write_bytes(pack(text.encode()))
    json_objects = ("run_json", "config")  # small files that nobody compresses
    assert kind_of(path) == ("other" if kind in json_objects else kind)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        gzip.compress(b"", mtime=0),
        b"\x1f\x8b",
        b"\x1f\x8bgarbage",
        b"\x28\xb5\x2f\xfdgarbage",
        b"{",
        b'{"schemaVersion": 1, "devi',
        b'[{"p',
    ],
)
@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_broken_file_named_like_a_trace_is_not_overlooked(tmp_path, data, ending):
    named = tmp_path / f"rank0.1.pt.trace.json{ending}"
    named.write_bytes(data)
    assert kind_of(named) == "trace"
    unnamed = tmp_path / "data.bin"
    unnamed.write_bytes(data)
    assert kind_of(unnamed) == "other"


def test_json_of_something_else_is_no_trace_whatever_its_name(tmp_path):
    path = tmp_path / "x.trace.json"
    path.write_text('{"spans": []}')
    assert kind_of(path) == "other"


def test_bomb_is_inflated_no_further_than_needed(tmp_path):
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b"0" * 50_000_000))
    assert len(read_text(path, 1000)) == 1000


def test_bytes_that_are_no_utf8_are_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b'{"traceEvents": [{"name": "\xff\xfe"}]}')
    assert kind_of(path) == "trace"
    assert "\ufffd" in read_text(path, 1000)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"a": Infinity}', '"x"', "\xff"])
def test_load_json_is_none_without_an_object(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="latin-1")
    assert load_json(path) is None


def test_load_json_leaves_big_files_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tracekit.readers.kind.MAX_JSON_BYTES", 20)
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"a": 1}))
    assert load_json(path) == {"a": 1}
    path.write_text(json.dumps({"a": "x" * 20}))
    assert load_json(path) is None
