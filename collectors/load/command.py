"""A load command of the user's, such as `vllm bench serve ...`, run in each window."""

import os
import re
import shlex
import shutil
import threading
import time
from dataclasses import dataclass

from tracekit.collectors.load.protocol import IsStopped, LoadSummary, LoadWindow, apart
from tracekit.collectors.process.job import Job
from tracekit.collectors.process.masked_log import MaskedLog
from tracekit.collectors.secrets import known_secrets, redacted_arguments
from tracekit.errors import CaptureError

GRACE_S = 5.0
"""Time to end after SIGTERM; a load has nothing to write."""

_POLL_S = 0.05
_SHOWN_LINES = 5
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

    def describe(self) -> dict[str, object]:
        """The command, its secrets masked."""
        return {"kind": "command", "command": redacted_arguments(self.command)}

    def stream_tokens(self, concurrency: int) -> int | None:
        """Unknown of a command."""
        return None

    def _run(self, window: LoadWindow, is_stopped: IsStopped) -> LoadSummary:
        start_ns, start = time.time_ns(), time.perf_counter_ns()
        words = self._words(window)
        log = MaskedLog(
            window.folder.load_log(window.name), known_secrets(words, os.environ) | window.secrets
        )
        job = Job(words, {**os.environ, **_told(window)}, log, "the command of --load")
        code = _exit_code(job, is_stopped)
        dur_ns = time.perf_counter_ns() - start
        job.grace_s = GRACE_S
        job.stop(lambda: False)
        log.refuse_incomplete()
        _refuse(code, words[0], job, window)
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
        CaptureError: no words, a quotation without its end, or no such program.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CaptureError(f"--load: {error}; quote it as for a shell") from error
    if not words:
        raise CaptureError("--load: no command; give one, such as 'vllm bench serve ...'")
    if not _PLACEHOLDER.search(words[0]) and shutil.which(words[0]) is None:
        raise CaptureError(f"--load: {words[0]}: no such program; check its name and PATH")
    return CommandLoad(tuple(words))


def _told(window: LoadWindow) -> dict[str, str]:
    return {
        "TRACEKIT_URL": window.url,
        "TRACEKIT_MODEL": window.model,
        "TRACEKIT_WINDOW": window.name,
        "TRACEKIT_CONCURRENCY": str(window.concurrency),
    }


def _exit_code(job: Job, is_stopped: IsStopped) -> int | None:
    """Exit code of the command, None where it was to be stopped before it ended."""
    while not is_stopped():
        if (code := job.wait(_POLL_S)) is not None:
            return code
    return None


def _refuse(code: int | None, program: str, job: Job, window: LoadWindow) -> None:
    if code is None:
        raise CaptureError(f"load: stopped in window {window.name}; capture again")
    if code != 0:
        how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
        words = " | ".join(job.tail(_SHOWN_LINES)) or "it printed nothing"
        raise CaptureError(
            f"load: {program}: {how} in window {window.name}: {words}; see {job.log}"
        )
