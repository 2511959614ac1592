"""What went wrong, in one line: of several signs the one nearest to the cause."""

import errno
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tracekit.collectors.engine import ServingEngine
from tracekit.collectors.health import ended
from tracekit.collectors.process.job import POLL_S, Job
from tracekit.collectors.report import Report
from tracekit.collectors.secrets import Known, redacted_text
from tracekit.collectors.size import SPARE_BYTES
from tracekit.errors import CaptureError

ENDING_S = 2.0
"""How long after a failed request a server may still be found to end: vLLM answers 500 first."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_TAIL_LINES = 12
_LOOKED_AT_LINES = 400
_CAUSES = 2
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception): \S")
_LOGGED_ERROR = re.compile(r"\b(?:ERROR|CRITICAL) .*\] (?!Traceback|\s)\S")
"""vLLM puts level, time and place before each line, also before those of a traceback."""

_ANSWER_CHARACTERS = 200
_MASKED_CHARACTERS = 20_000


@contextmanager
def explained(folder: Path, known: Known) -> Iterator[None]:
    """Say what a server's answers and the system's errors mean as one CaptureError."""
    try:
        yield
    except (CaptureError, httpx.HTTPError, OSError) as error:
        if _is_full(folder, error):
            raise CaptureError(
                f"{folder}: the disk is full; free space, or choose another folder with --out"
            ) from error
        if isinstance(error, CaptureError):
            raise
        raise CaptureError(redacted_text(_told(error, known), known)) from error


@contextmanager
def blamed_on(server: Job, report: Report) -> Iterator[None]:
    """Where the server ended in the body, say that, and show its last lines."""
    try:
        yield
    except (CaptureError, httpx.HTTPError) as error:
        if not _ends(server):
            for line in _causes(server.tail(_LOOKED_AT_LINES)):
                report.note(line)
            raise
        lines = server.tail(_LOOKED_AT_LINES)
        for line in _last_words(lines):
            report.note(line)
        cause = next(iter(_causes(lines)), "")[:_ANSWER_CHARACTERS]
        raise CaptureError(ended("server", server, cause)) from error


@contextmanager
def profiler_explained(engine: ServingEngine, patience_s: float, known: Known) -> Iterator[None]:
    """Say what answers of /start_profile and /stop_profile mean."""
    try:
        yield
    except httpx.HTTPStatusError as error:
        path = error.request.url.path
        if not path.endswith(("/start_profile", "/stop_profile")):
            raise
        raise CaptureError(_refused(error, engine, known)) from error
    except httpx.ReadTimeout as error:
        path = error.request.url.path
        if not path.endswith("/stop_profile"):
            raise
        raise CaptureError(
            f"{path}: no answer in {patience_s:.0f} s, the ranks still write; "
            "raise --stop-timeout, or take fewer --steps"
        ) from error


def _last_words(lines: list[str]) -> list[str]:
    """The last lines, and before them the first that name an error: vLLM's own come at the end."""
    last = lines[-_TAIL_LINES:]
    causes = [line for line in _causes(lines) if line not in last]
    return [*causes, "...", *last] if causes else last


def _causes(lines: list[str]) -> list[str]:
    """The first lines by which the engine says what went wrong, without the way there."""
    return [line for line in lines if _ERROR.search(line) or _LOGGED_ERROR.search(line)][:_CAUSES]


def _ends(server: Job) -> bool:
    deadline = time.monotonic() + ENDING_S
    while server.exit_code is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _refused(error: httpx.HTTPStatusError, engine: ServingEngine, known: Known) -> str:
    path, code = error.request.url.path, error.response.status_code
    if code == 404:
        return f"{path}: 404, the server was not started for profiling; {engine.how_to_profile}"
    if code == 409:
        return f"{path}: 409, its profiler runs already; end that with POST /stop_profile"
    return _told(error, known)


def _is_full(folder: Path, error: Exception) -> bool:
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return folder.exists() and shutil.disk_usage(folder).free < SPARE_BYTES


def _told(error: httpx.HTTPError | OSError, known: Known) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or 'capture'}: {error.strerror}; check the path and its rights"
    request = f"{error.request.method} {error.request.url.path}"
    if isinstance(error, httpx.HTTPStatusError):
        said = f"{request}: {error.response.status_code} {_answer(error.response, known)}".rstrip()
        return f"{said}; look into the server's log"
    reason = "no answer in time" if isinstance(error, httpx.TimeoutException) else str(error)
    return f"{request}: {reason.rstrip('.') or 'the connection broke'}; is the server still there?"


def _answer(response: httpx.Response, known: Known) -> str:
    """Its first words; masked before they are cut, since half a secret is not recognised."""
    text = redacted_text(response.text[:_MASKED_CHARACTERS], known)
    return " ".join(text[:_ANSWER_CHARACTERS].split())
