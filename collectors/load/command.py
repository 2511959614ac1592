"""A load command of the user's, such as `vllm bench serve ...`, run in each window."""

import io
import os
import re
import shlex
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from tracekit.collectors.load.protocol import IsStopped, LoadSummary, LoadWindow, apart
from tracekit.collectors.process.job import Server
from tracekit.collectors.secrets import Known, known_secrets, redacted_text
from tracekit.errors import CaptureError

_POLL_S = 0.05
_GRACE_S = 5.0
_SHOWN_LINES = 5
_MAX_LINE_CHARACTERS = 1 << 16
_PLACEHOLDER = re.compile(r"\{(url|model|concurrency)\}")


@dataclass(frozen=True, slots=True)
class CommandLoad:
    """A program and its arguments, run without a shell in a process group of its own.

    In the arguments {url}, {model} and {concurrency} are replaced; the environment has
    TRACEKIT_URL, TRACEKIT_MODEL, TRACEKIT_WINDOW and TRACEKIT_CONCURRENCY. Whether it sends the
    same load each time is up to the command: give it a seed.
    """

    command: tuple[str, ...]

    def run(self, window: LoadWindow, stop: threading.Event) -> LoadSummary:
        """Runs the command and keeps what it prints, without secrets; see `Load.run`."""
        return apart(lambda is_stopped: self._run(window, is_stopped), stop)

    def _run(self, window: LoadWindow, is_stopped: IsStopped) -> LoadSummary:
        start_ns, start = time.time_ns(), time.perf_counter_ns()
        words = self._words(window)
        log = _Log(window.log_path, known_secrets(words, os.environ) | window.secrets)
        process = _start(words, window)
        command = Server(process, window.log_path)
        reader = threading.Thread(target=log.keep, args=(process.stdout,), daemon=True)
        reader.start()
        code = _exit_code(process, is_stopped)
        dur_ns = time.perf_counter_ns() - start
        deadline = time.monotonic() + _GRACE_S
        command.stop(lambda: time.monotonic() > deadline)
        reader.join(_GRACE_S)  # not for ever: what escaped from the group may hold the pipe
        log.refuse_incomplete()
        _refuse(code, words[0], command, window)
        return LoadSummary(start_ns, dur_ns, n_requests=None, n_tokens=None)

    def _words(self, window: LoadWindow) -> list[str]:
        """The command with its placeholders replaced; other braces, as of JSON, are kept."""
        values = {
            "url": window.url,
            "model": window.model,
            "concurrency": str(window.concurrency),
        }
        return [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in self.command]


def load_command(text: str) -> CommandLoad:
    """The load of `--load TEXT`, its words split as a shell does.

    Raises:
        CaptureError: no words, or a quotation without its end.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CaptureError(f"--load: {error}; quote it as for a shell") from error
    if not words:
        raise CaptureError("--load: no command; give one, such as 'vllm bench serve ...'")
    return CommandLoad(tuple(words))


class _Log:
    """What a command prints, written line by line with its secrets masked."""

    def __init__(self, path: Path, known: Known) -> None:
        self._path = path
        self._known = known
        self._error: OSError | None = None

    def keep(self, stdout: IO[bytes]) -> None:
        """Writes until the command has closed its output; closes it early where it cannot."""
        try:
            with io.TextIOWrapper(stdout, encoding="utf-8", errors="replace") as printed:
                self._write(printed)
        except OSError as error:
            self._error = error

    def _write(self, printed: TextIO) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("w", buffering=1, encoding="utf-8") as log:
            while line := printed.readline(_MAX_LINE_CHARACTERS):
                log.write(redacted_text(line, self._known))

    def refuse_incomplete(self) -> None:
        """Raises CaptureError where the log could not be written."""
        if self._error is not None:
            reason = self._error.strerror
            raise CaptureError(f"{self._path}: {reason}; make room, or choose another --out")


def _start(words: list[str], window: LoadWindow) -> "subprocess.Popen[bytes]":
    environment = {
        "TRACEKIT_URL": window.url,
        "TRACEKIT_MODEL": window.model,
        "TRACEKIT_WINDOW": window.name,
        "TRACEKIT_CONCURRENCY": str(window.concurrency),
    }
    try:
        return subprocess.Popen(
            words,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        reason = f"{error.filename or words[0]}: cannot be started: {error.strerror}"
        raise CaptureError(f"{reason}; check the command of --load") from error


def _exit_code(process: "subprocess.Popen[bytes]", is_stopped: IsStopped) -> int | None:
    """Exit code of the command, None where it was to be stopped before it ended."""
    while not is_stopped():
        try:
            return process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            continue
    return None


def _refuse(code: int | None, program: str, command: Server, window: LoadWindow) -> None:
    if code is None:
        raise CaptureError(f"load: stopped in window {window.name}; capture again")
    if code != 0:
        how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
        words = " | ".join(command.tail(_SHOWN_LINES)) or "it printed nothing"
        raise CaptureError(
            f"load: {program}: {how} in window {window.name}: {words}; see {window.log_path}"
        )
