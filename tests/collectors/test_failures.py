"""Of several signs of a failure the nearest to its cause is told."""

import errno

import httpx
import pytest

from tracekit.collectors.engines.vllm import Vllm
from tracekit.collectors.failures import blamed_on, explained, profiler_explained
from tracekit.errors import CaptureError

KNOWN = frozenset()


class Notes:
    def __init__(self):
        self.lines = []

    def note(self, text):
        self.lines.append(text)


class Ended:
    """A server that has ended, with these last lines."""

    exit_code = 1
    log = "server.log"

    def __init__(self, lines):
        self.lines = lines

    def tail(self, n_lines):
        return self.lines[-n_lines:]


def answer(code, path="/start_profile", text=""):
    request = httpx.Request("POST", f"http://127.0.0.1:1{path}")
    return httpx.Response(code, request=request, text=text)


def told(context, error):
    with pytest.raises(CaptureError) as caught, context:
        raise error
    return str(caught.value)


def refused(code, path="/start_profile"):
    response = answer(code, path)
    error = httpx.HTTPStatusError("", request=response.request, response=response)
    return told(profiler_explained(Vllm(), 5, KNOWN), error)


def test_a_server_without_a_profiler_is_told_how_to_start_it():
    assert "--profiler-config" in refused(404)
    assert "VLLM_TORCH_PROFILER_DIR" in refused(404)


def test_a_profiler_that_runs_already_is_told():
    assert "POST /stop_profile" in refused(409)


def test_other_answers_are_told_with_their_path():
    assert refused(500, "/stop_profile").startswith("POST /stop_profile: 500; ")


def test_patience_that_ended_is_told_with_its_length():
    error = httpx.ReadTimeout("", request=answer(200, "/stop_profile").request)
    assert "no answer in 5 s" in told(profiler_explained(Vllm(), 5, KNOWN), error)


def test_a_server_that_ended_is_to_blame_for_a_broken_connection():
    notes = Notes()
    error = httpx.ReadError("", request=answer(200).request)
    said = told(blamed_on(Ended(["one", "two"]), notes), error)
    assert said.startswith("server: exited with 1; ")
    assert notes.lines == ["one", "two"]


def test_an_error_far_above_the_end_is_shown_with_the_last_lines():
    notes = Notes()
    lines = ["INFO", "E ValueError: no memory", *["  File x"] * 20, "RuntimeError: see above"]
    told(blamed_on(Ended(lines), notes), CaptureError("load: failed; look"))
    assert notes.lines[:2] == ["E ValueError: no memory", "..."]
    assert notes.lines[-1] == "RuntimeError: see above"
    assert len(notes.lines) == 14


WORKER_DIED = "(EngineCore pid=7) ERROR 07-12 10:00:00 [e.py:9] Worker proc VllmWorker-0 died"


def test_the_engines_own_error_line_is_shown_and_is_the_cause():
    notes = Notes()
    lines = [
        "INFO 07-12 10:00:00 [x.py:1] ERROR handling is on",
        "ERROR 07-12 10:00:00 [e.py:9] Traceback (most recent call last):",
        "ERROR 07-12 10:00:00 [e.py:9]   File y",
        WORKER_DIED,
        *["INFO"] * 30,
    ]
    said = told(blamed_on(Ended(lines), notes), CaptureError("load: failed; look"))
    assert notes.lines[:2] == [WORKER_DIED, "..."]
    assert said == f"server: exited with 1: {WORKER_DIED}; all it said is in server.log"


def test_the_engines_own_error_line_is_shown_of_a_server_that_goes_on(monkeypatch):
    monkeypatch.setattr("tracekit.collectors.failures.ENDING_S", 0)
    notes, server = Notes(), Ended([WORKER_DIED, "INFO"])
    server.exit_code = None
    said = told(blamed_on(server, notes), CaptureError("load: failed; look"))
    assert (said, notes.lines) == ("load: failed; look", [WORKER_DIED])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_whatever_failed_first(tmp_path, number):
    said = told(explained(tmp_path, KNOWN), OSError(number, "full", "x"))
    assert said == f"{tmp_path}: the disk is full; free space, or choose another folder with --out"


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    error = PermissionError(errno.EACCES, "Permission denied", "run.json")
    assert told(explained(tmp_path, KNOWN), error).startswith("run.json: Permission denied; ")


def test_an_answer_is_told_in_one_line_without_secrets(tmp_path):
    response = answer(500, "/metrics", "went\nwrong api_key=hf_0123456789abcdefghijABCDEFGHIJ")
    error = httpx.HTTPStatusError("", request=response.request, response=response)
    said = told(explained(tmp_path, KNOWN), error)
    assert said.startswith("POST /metrics: 500 went wrong")
    assert "hf_0123456789" not in said
