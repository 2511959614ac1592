"""What a file is, told by its first bytes (inflated where compressed), not by its name."""

import io
import json
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import zstandard

Kind = Literal[
    "trace",
    "metrics",
    "load",
    "gpu_samples",
    "run_json",
    "server_log",
    "nccl_log",
    "calibration",
    "config",
    "other",
]

HEAD_BYTES = 64 * 1024
LOG_LINES = 50
"""Lines within which a log has to show what it is: further down, prose may quote one."""

LINE_LENGTH = 300
"""Characters of a line that are looked at: the patterns are quadratic at worst."""

MAX_JSON_BYTES = 1024 * 1024
"""Largest run.json or config.json that is read; those seen have 1 to 30 KB."""

_TRACE_OBJECT = re.compile(r'"(?:traceEvents|deviceProperties|distributedInfo)"\s*:')
_TRACE_ARRAY = re.compile(r'"ph"\s*:\s*"[A-Za-z]"')
_METRICS = re.compile(r"# (?:HELP|TYPE) ")
_SAMPLE = re.compile(r"# |[a-zA-Z_:][\w:]*(?:\{[^}\n]*\})? [-+\d.eEINaninf]+(?: \d+)?$")
_SERVER_LOG = re.compile(
    r"(?:\([^)\n]*\) )?(?:DEBUG|INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d "  # vLLM
    r"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]\n]*\] .*"  # SGLang
    r"(?:server_args=|Load weight|Prefill batch|Decode batch|max_total_num_tokens=)"
)
_NCCL_LOG = re.compile(
    r":\d+:\d+ (?:\[\d+\] )?(?:\S+ )*?NCCL (?:INFO|WARN|CALL|TRACE) |^NCCL version \d"
)
_NCCL_TESTS = re.compile(
    r"(?:\[\d+(?:,\d+)?\](?:<std(?:out|err)>)?:? ?)?#?\s*"
    r"(?:nccl-tests version |Collective test starting: |nThread \d+ nGpus \d+ minBytes )"
)
_NCCL_TESTS_JSON = re.compile(
    r'"minimum_bytes"\s*:|^\{\s*"version"\s*:\s*\d+\s*,[^{}\[\]]{0,200}"args"\s*:\s*\[\s*"[^"]*_perf"'
)
"""Its settings, or how it begins: a long environment stands between the two."""

_INFINITE = re.compile(rb"(?<=[:,\[])\s*-?inf(?=\s*[,}\]])")
"""What C's printf writes for an infinite number, and nccl-tests with it."""

_LOAD_ROW = re.compile(r'\{(?=.*"start_ns": ?\d)(?=.*"(?:end_ns|first_chunk_ns)": ?(?:\d|null)).')
"""A line of JSON with one request of a load."""


def kind_of(path: Path) -> Kind:
    """Kind of a regular file; `other` where nothing tells.

    An empty or broken file that is named like a trace is a trace: better refused than overlooked.

    Raises:
        OSError: the file cannot be read.
    """
    head = read_text(path, HEAD_BYTES).strip()
    if not head:
        return _unless_named_trace(path)
    if _is_trace(head):
        return "trace"
    if head.startswith("{") and _NCCL_TESTS_JSON.search(head):
        return "calibration"
    kind = _kind_of_text(head)  # before JSON: some logs start with `[2026-01-02 03:04:05]`
    return _kind_of_json(path) if kind == "other" and head.startswith(("{", "[")) else kind


def read_text(path: Path, max_bytes: int) -> str:
    """Start of a text file, inflated; empty where a compressed file is damaged at its start."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        raw = file.read(max_bytes)
    return _inflate(raw, max_bytes).decode("utf-8-sig", errors="replace")


def load_json(path: Path, max_bytes: int | None = None) -> dict[str, Any] | None:
    """A small JSON object; None where the file is too big, not JSON or no object."""
    if path.stat().st_size > (max_bytes or MAX_JSON_BYTES):
        return None
    return _object(path.read_bytes(), _refuse_constant)


def load_measured(path: Path, max_bytes: int) -> dict[str, Any] | None:
    """As `load_json`, with null for NaN and infinite numbers: they are one figure of many."""
    if path.stat().st_size > max_bytes:
        return None
    return _object(_INFINITE.sub(b"null", path.read_bytes()), lambda _: None)


def _object(content: bytes, constant: Callable[[str], None]) -> dict[str, Any] | None:
    try:
        value = json.loads(content, parse_constant=constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _inflate(raw: bytes, max_bytes: int) -> bytes:
    try:
        if raw.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(wbits=31).decompress(raw, max_bytes)
        if raw.startswith(b"\x28\xb5\x2f\xfd"):
            return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw)).read(max_bytes)
    except (zlib.error, zstandard.ZstdError):
        return b""
    return raw


def _is_trace(head: str) -> bool:
    if head.startswith("{"):
        return _TRACE_OBJECT.search(head) is not None
    return head.startswith("[") and _TRACE_ARRAY.search(head) is not None


def _kind_of_json(path: Path) -> Kind:
    value = load_json(path)
    if value is None:
        is_measured = _is_calibration(load_measured(path, MAX_JSON_BYTES) or {})
        return "calibration" if is_measured else _unless_named_trace(path)
    if path.name == "run.json" or isinstance(value.get("command", value.get("cmd")), list):
        return "run_json"
    if _is_calibration(value):
        return "calibration"
    return "config" if "model_type" in value or "architectures" in value else "other"


def _is_calibration(value: dict[str, Any]) -> bool:
    if value.get("tool") == "tracekit":
        return isinstance(value.get("points"), list)
    config = value.get("config")
    return isinstance(config, dict) and "minimum_bytes" in config


def _unless_named_trace(path: Path) -> Kind:
    is_named = path.name.endswith((".trace.json", ".trace.json.gz", ".trace.json.zst"))
    return "trace" if is_named else "other"


def _kind_of_text(head: str) -> Kind:
    lines = [line[:LINE_LENGTH] for line in head.splitlines()[:LOG_LINES]]
    if _METRICS.match(lines[0]):
        return "metrics"
    if _LOAD_ROW.match(lines[0]):
        return "load"
    if _is_gpu_heading(head.splitlines()[0]):
        return "gpu_samples"
    if any(map(_NCCL_TESTS.match, lines)):  # before logs: NCCL's lines stand in it
        return "calibration"
    if any(map(_SERVER_LOG.match, lines)):
        return "server_log"
    if any(map(_NCCL_LOG.search, lines)):
        return "nccl_log"
    return "metrics" if _is_samples(lines) else "other"  # after logs: a cut one may begin so


def _is_samples(lines: list[str]) -> bool:
    """Whether the first line is a sample of /metrics, and most others are."""
    n = sum(_SAMPLE.match(line) is not None for line in lines)
    return _SAMPLE.match(lines[0]) is not None and 2 * n > len(lines)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _is_gpu_heading(line: str) -> bool:
    """Whether it is the first line of what nvidia-smi writes as csv."""
    return {"timestamp", "index"} <= {name.strip() for name in line.split(",")}
