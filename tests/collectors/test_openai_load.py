"""The built-in load against a stub: what it sends, what it records, how it ends."""

import json
import signal
import socket
import threading
import time

import openai_stub as stub
import pytest

from tracekit.collectors.load.openai import OpenAILoad
from tracekit.collectors.load.prompts import SyntheticPrompts, read_prompts
from tracekit.collectors.load.protocol import LoadWindow, max_steps
from tracekit.collectors.load.stream import Answer, most_at_once
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError

NEVER = threading.Event()
KEY = "sk-planted-0123456789"


def load(**changes):
    values = {"prompts": SyntheticPrompts(n_tokens=20, seed=1), "n_output_tokens": 8}
    return OpenAILoad(**(values | changes))


def window(url, folder, **changes):
    values = {"model": "m", "name": "profiled", "concurrency": 1, "folder": RunFolder(folder)}
    return LoadWindow(url=url, **(values | changes))


def rows(folder, name="profiled"):
    text = (folder / "load" / f"{name}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def run(answer, folder, load=None, **changes):
    with stub.serving(answer) as server:
        summary = (load or OPEN).run(window(server.url, folder, **changes), NEVER)
    return summary, server


OPEN = load()


def failure(answer, folder, load=OPEN, **changes):
    with pytest.raises(CaptureError) as raised:
        run(answer, folder, load, **changes)
    return str(raised.value)


def test_a_row_has_the_counts_of_the_server_and_every_arrival(tmp_path):
    run(None, tmp_path)
    (row,) = rows(tmp_path)
    assert (row["request"], row["prompt"], row["status"], row["error"]) == (0, 0, "ok", None)
    assert (row["n_prompt_tokens"], row["n_tokens"]) == (stub.PROMPT_TOKENS, 8)
    assert len(row["chunk_offsets_ns"]) == 8
    assert row["chunk_offsets_ns"] == sorted(row["chunk_offsets_ns"])
    assert row["first_chunk_ns"] == row["start_ns"] + row["chunk_offsets_ns"][0]
    assert row["first_chunk_ns"] < row["end_ns"]


def test_the_summary_spans_from_the_first_request_to_the_last_answer(tmp_path):
    before = time.time_ns()
    summary, _ = run(None, tmp_path, load(n_requests=3))
    found = rows(tmp_path)
    assert before <= summary.start_ns == found[0]["start_ns"]
    assert summary.start_ns + summary.dur_ns == found[-1]["end_ns"]
    assert (summary.n_requests, summary.n_tokens) == (3, 24)


def test_streams_start_together_and_the_most_at_once_is_told(tmp_path):
    """As many as answer only when all have come: one that started late would never end."""
    n, barrier = 5, threading.Barrier(5, timeout=20)

    def together(handler, body):
        barrier.wait()
        stub.stream(handler, body)

    summary, _ = run(together, tmp_path, concurrency=n)
    assert summary.n_at_once == n


def test_fewer_requests_than_streams_are_told_as_such(tmp_path):
    summary, _ = run(None, tmp_path, load(n_requests=2), concurrency=4)
    assert summary.n_at_once <= 2


@pytest.mark.parametrize(
    ("spans", "most"), [([], 0), ([(0, 9), (9, 12)], 1), ([(0, 9), (3, 4), (5, 12), (8, 9)], 3)]
)
def test_the_most_that_overlap(spans, most):
    answers = [Answer(0, 0, start_ns=start, end_ns=end) for start, end in spans]
    assert most_at_once(answers) == most


def test_a_request_asks_for_a_stream_with_usage_of_a_fixed_length(tmp_path):
    _, server = run(None, tmp_path)
    ((path, body),) = server.asked
    assert path == "/v1/completions"
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["ignore_eos"] is True
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 8, 0)
    assert len(body["prompt"]) == 20


def short(handler, body):
    stub.stream(handler, body | {"max_tokens": 5})


def test_an_answer_that_the_server_cut_short_fails_the_load(tmp_path):
    assert "5 of 8 tokens generated: prompt and output exceed" in failure(short, tmp_path)


def test_an_answer_may_end_early_where_eos_is_heeded(tmp_path):
    summary, _ = run(short, tmp_path, load(ignore_eos=False))
    assert summary.n_tokens == 5


def test_a_row_of_a_file_may_say_how_many_tokens_to_generate(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "a", "max_tokens": 3}\n{"prompt": "b"}\n')
    prompts = read_prompts(tmp_path / "p.jsonl", "completions")
    _, server = run(None, tmp_path, load(prompts=prompts, n_requests=2))
    assert [body["max_tokens"] for _, body in server.asked] == [3, 8]
    assert [row["n_tokens"] for row in rows(tmp_path)] == [3, 8]


def test_ignore_eos_is_not_sent_to_servers_that_do_not_take_it(tmp_path):
    _, server = run(None, tmp_path, load(ignore_eos=False))
    assert "ignore_eos" not in server.asked[0][1]


def test_chat_goes_to_its_own_path_with_messages(tmp_path):
    _, server = run(None, tmp_path, load(prompts=SyntheticPrompts(20, seed=1, api="chat")))
    ((path, body),) = server.asked
    assert path == "/v1/chat/completions"
    assert len(body["messages"][0]["content"].split()) == 20
    assert rows(tmp_path)[0]["n_tokens"] == 8


def test_as_many_requests_run_at_a_time_as_the_window_says(tmp_path):
    together = threading.Barrier(3, timeout=10)

    def answer(handler, body):
        together.wait()  # breaks unless three are there at once
        stub.stream(handler, body)

    summary, _ = run(answer, tmp_path, load(n_requests=6), concurrency=3)
    assert summary.n_requests == 6
    assert [row["status"] for row in rows(tmp_path)] == ["ok"] * 6


def test_each_stream_has_one_request_where_their_number_is_not_given(tmp_path):
    summary, _ = run(None, tmp_path, concurrency=4)
    assert summary.n_requests == 4


def test_a_connection_serves_one_request_after_the_other(tmp_path):
    clients = set()

    def answer(handler, body):
        clients.add(handler.client_address)
        stub.stream(handler, body)

    run(answer, tmp_path, load(n_requests=5))
    assert len(clients) == 1


def test_line_separators_of_unicode_do_not_end_an_event(tmp_path):
    run(lambda handler, body: stub.stream(handler, body, text="\u2028\x85é"), tmp_path)
    assert len(rows(tmp_path)[0]["chunk_offsets_ns"]) == 8


def test_an_event_may_come_in_pieces(tmp_path):
    def answer(handler, body):
        handler.begin()
        for byte in chunk_bytes:
            handler.send(bytes([byte]))
        handler.send(b"")

    chunk_bytes = stub.chunk("é") + stub.usage(1) + b"data: [DONE]\r\n\r\n"
    run(answer, tmp_path, load(n_output_tokens=1))
    row = rows(tmp_path)[0]
    assert (len(row["chunk_offsets_ns"]), row["n_tokens"]) == (1, 1)


def test_counts_are_unknown_where_the_server_sends_no_usage(tmp_path):
    summary, _ = run(lambda handler, body: stub.begun(handler, b"data: [DONE]\n\n"), tmp_path)
    assert summary.n_tokens is None
    assert rows(tmp_path)[0]["n_tokens"] is None


BROKEN = {
    "error event": (stub.event({"error": {"message": "engine died"}}), "engine died"),
    "error event of old": (stub.event({"object": "error", "message": "engine died"}), "died"),
    "early end": (b"", r"ended before [DONE]"),
    "no JSON": (b"data: <html>\n\n", "no JSON object in the stream: '<html>'"),
    "deep JSON": (b"data: " + b"[" * 100_000 + b"\n\n", "no JSON object in the stream"),
    "endless line": (b"data: " + b"x" * (1 << 21), "a line of more than 1048576 bytes"),
}


@pytest.mark.parametrize(("sent", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_stream_fails_the_load_and_keeps_its_row(tmp_path, sent, message):
    told = failure(lambda handler, body: stub.begun(handler, sent), tmp_path)
    assert told.startswith("load: request 0 of window profiled: POST /v1/completions: ")
    assert message in told
    (row,) = rows(tmp_path)
    assert row["status"] == "failed"
    assert message in row["error"]
    assert len(row["chunk_offsets_ns"]) == 2


REFUSED = {
    "vLLM": (400, b'{"error": {"message": "maximum context length is 64"}}', "context length"),
    "SGLang": (400, b'{"object": "error", "message": "no such model"}', "400 no such model"),
    "FastAPI": (404, b'{"detail": "Not Found"}', "404 Not Found"),
    "a proxy": (502, b"<h1>Bad Gateway</h1>", "502 <h1>Bad Gateway</h1>"),
    "in silence": (500, b"", ": 500"),
}


@pytest.mark.parametrize(("code", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_request_fails_the_load_with_the_words_of_the_server(
    tmp_path, code, content, message
):
    assert message in failure(lambda handler, _: stub.refuse(handler, code, content), tmp_path)


def test_a_reset_connection_fails_the_load(tmp_path):
    assert "POST /v1/completions: " in failure(stub.reset, tmp_path)
    assert rows(tmp_path)[0]["status"] == "failed"


def test_a_server_that_is_not_there_fails_the_load(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: refuses
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(CaptureError, match="no connection"):
            OPEN.run(window(url, tmp_path), NEVER)


def test_a_server_that_goes_silent_fails_the_load_after_its_patience(tmp_path):
    assert "nothing came for 0.2 s" in failure(stub.hang, tmp_path, load(timeout_s=0.2))


def test_the_first_failure_ends_the_other_requests(tmp_path):
    hanging = threading.Event()

    def answer(handler, body):
        if not hanging.is_set():
            hanging.set()
            stub.hang(handler, body)
        else:
            stub.refuse(handler, 500, b"")

    failure(answer, tmp_path, load(n_requests=9), concurrency=2)
    assert sorted(row["status"] for row in rows(tmp_path)) == ["cancelled", "failed"]


def test_a_load_that_is_told_to_stop_leaves_no_request_behind(tmp_path):
    stop = threading.Event()
    with stub.serving(stub.hang) as server:
        threading.Thread(target=lambda: server.seen.wait(10) and stop.set()).start()
        with pytest.raises(CaptureError, match="stopped in window profiled"):
            load().run(window(server.url, tmp_path), stop)
        assert server.broken.wait(10)
    assert [row["status"] for row in rows(tmp_path)] == ["cancelled"]


def test_ctrl_c_ends_a_load_at_once_and_leaves_no_request_behind(tmp_path):
    main = threading.main_thread().ident
    with stub.serving(stub.hang) as server:
        interrupt = threading.Thread(
            target=lambda: server.seen.wait(10) and signal.pthread_kill(main, signal.SIGINT)
        )
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            load().run(window(server.url, tmp_path), NEVER)
        assert server.broken.wait(10)
    assert [row["status"] for row in rows(tmp_path)] == ["cancelled"]


def test_a_folder_that_cannot_be_written_fails_the_load_before_any_request(tmp_path):
    (tmp_path / "load").write_text("a file where a folder should be")
    with stub.serving() as server:
        with pytest.raises(CaptureError, match="load"):
            OPEN.run(window(server.url, tmp_path), NEVER)
        assert server.asked == []


def test_a_full_disk_fails_the_load(tmp_path):
    (tmp_path / "load").mkdir()
    (tmp_path / "load" / "profiled.jsonl").symlink_to("/dev/full")
    assert "profiled.jsonl: No space left on device; make room" in failure(None, tmp_path)


def test_the_api_key_is_sent_and_written_nowhere(tmp_path):
    def answer(handler, body):
        stub.refuse(handler, 401, f"the key {KEY} is wrong".encode())

    with stub.serving(answer) as server:
        place = window(server.url, tmp_path, api_key=KEY)
        with pytest.raises(CaptureError) as raised:
            OPEN.run(place, NEVER)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    written = "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))
    assert KEY not in f"{written} {raised.value} {place!r}"


@pytest.mark.parametrize("key", ["", "a b", "line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(tmp_path, key):
    with pytest.raises(CaptureError, match="^API key: not printable ASCII"):
        window("http://127.0.0.1:1", tmp_path, api_key=key)


def test_a_proxy_of_the_environment_is_not_used(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    run(None, tmp_path)


def test_windows_send_the_same_prompts(tmp_path):
    with stub.serving() as server:
        for name in ("unprofiled", "profiled"):
            load(n_requests=3).run(window(server.url, tmp_path, name=name), NEVER)
    prompts = [body["prompt"] for _, body in server.asked]
    assert prompts[:3] == prompts[3:]
    assert len({tuple(p) for p in prompts}) == 3
    assert {len(p) for p in prompts} == {20}


def test_the_profiler_takes_a_load_of_its_steps_whole(tmp_path):
    assert max_steps(load(n_output_tokens=8), 8, [1, 4]) == 2 * 8 + 8 * 4


def test_of_a_longer_load_the_profiler_takes_the_first_steps(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "a", "max_tokens": 9}\n')
    longer = load(prompts=read_prompts(path, "completions"), n_output_tokens=8)
    assert max_steps(longer, 8, [1]) == 8
    assert max_steps(load(n_output_tokens=9), 8, [1]) == 8
    assert max_steps(load(n_requests=3), 8, [4, 1]) == 8
