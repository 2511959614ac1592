import json

import pytest

from tracekit.readers.load_rows import read_requests

START = 1_795_961_069_016_733_685
ROW = {
    "request": 0,
    "prompt": 3,
    "start_ns": START,
    "first_chunk_ns": START + 5_000,
    "end_ns": START + 9_000,
    "n_prompt_tokens": 17,
    "n_tokens": 32,
    "status": "ok",
    "error": None,
    "chunk_offsets_ns": [5_000, 9_000],
}
COLUMNS = "request, prompt, dur_ns, first_chunk_ns, n_prompt_tokens, n_tokens, n_chunks, status"


def read(folder, *rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    windows = [{"name": "w", "load": "load/w.jsonl"}]
    files = {"load/w.jsonl": "\n".join(lines) + "\n"}
    folder.read(read_requests, "load", files, windows)


def test_a_request_is_a_row(folder):
    read(folder, ROW)
    assert folder.rows("SELECT window_name, start_ns FROM request") == [("w", START)]
    assert folder.rows(f"SELECT {COLUMNS} FROM request") == [
        (0, "3", 9_000, 5_000, 17, 32, 2, "ok")
    ]
    assert folder.losses() == {}


def test_a_request_that_was_not_answered_has_no_duration(folder):
    failed = {**ROW, "status": "failed", "n_tokens": None, "first_chunk_ns": None}
    read(folder, failed, {"start_ns": START, "end_ns": None})
    assert folder.rows("SELECT dur_ns, n_tokens, status FROM request ORDER BY request") == [
        (None, None, "failed"),
        (None, None, None),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        '{"start_ns": 17',
        "[]",
        "7",
        "[" * 100_000,
        '{"start_ns": "now"}',
        '{"start_ns": -1}',
        '{"start_ns": 1e300}',
        '{"start_ns": ' + "9" * 5_000 + "}",
    ],
    ids=["cut", "list", "number", "deep", "text", "negative", "float", "digits"],
)
def test_what_is_no_request_is_counted_and_spoils_no_other(folder, bad):
    read(folder, ROW, bad, ROW)
    assert folder.rows("SELECT request FROM request ORDER BY ALL") == [(0,), (2,)]
    assert folder.losses() == {"request of the load not understood": 1}


def test_absurd_values_are_nothing(folder):
    absurd = {"end_ns": START - 1, "first_chunk_ns": 2**70, "n_tokens": True, "n_prompt_tokens": -1}
    read(folder, {**ROW, **absurd, "chunk_offsets_ns": "many", "prompt": {"a": 1}, "status": 200})
    assert folder.rows(f"SELECT {COLUMNS} FROM request") == [(0, *[None] * 7)]
