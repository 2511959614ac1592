"""The command that is captured: in a process group of its own, ended with all it started."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from tracekit.collectors.process.masked_log import MaskedLog
from tracekit.collectors.process.signals import Signals
from tracekit.collectors.process.table import Process, family
from tracekit.collectors.report import Report
from tracekit.collectors.secrets import known_secrets
from tracekit.errors import CaptureError

GRACE_S = 10.0
"""Time to end after SIGTERM; vLLM takes under 1 s, while it loads a model it may not listen."""

WRITING_GRACE_S = 30.0
"""The same where a profile is being recorded, which is written first."""

CLOSE_S = 5.0
"""Wait for the last of a log: a process that escaped may hold it open."""

POLL_S = 0.1
_TAIL_BYTES = 64 * 1024


class Job:
    """A command that runs, with all it starts; `log` has what it writes to stdout and stderr.

    `command` is its program, `grace_s` the time it has to end when it is told to.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: MaskedLog, origin: str
    ) -> None:
        """Start it; `origin` is where the user wrote it.

        Raises:
            CaptureError: there is no such program.
        """
        self.command = command[0]
        self.grace_s = GRACE_S
        self._popen = _start(command, environment, origin)
        self._family: frozenset[Process] = frozenset()
        self._masked = log
        log.read(cast("IO[bytes]", self._popen.stdout))

    @property
    def log(self) -> Path:
        """The file of its log."""
        return self._masked.path

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative where a signal ended it."""
        self._family = family(self._popen.pid, self._family)
        return self._popen.poll()

    def wait(self, timeout_s: float) -> int | None:
        """Exit code, None where it still runs; unlike `exit_code` it costs next to nothing."""
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(timeout_s)
        return None

    def log_size(self) -> int:
        """Bytes of the log once all that was printed so far is in it."""
        return self._masked.size()

    def tail(self, n_lines: int) -> list[str]:
        """Its last lines."""
        size = self.log_size()
        with self.log.open("rb") as file:
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()[-n_lines:]

    def kill(self) -> None:
        """End it and all it started at once."""
        self._signal(signal.SIGKILL)
        for process in self._survivors():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)

    def stop(self, is_urgent: Callable[[], bool]) -> None:
        """End it and all it started, politely unless `is_urgent`; returns when none is left."""
        self._survivors()  # who they are is known only while the parents live
        self._signal(signal.SIGTERM)
        self._wait(is_urgent)
        self.kill()
        self._wait(lambda: False)
        self._masked.close(CLOSE_S)

    def _wait(self, is_urgent: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.grace_s
        while time.monotonic() < deadline and not is_urgent():
            if self._popen.poll() is not None and not self._survivors():
                return
            time.sleep(POLL_S)

    def _survivors(self) -> frozenset[Process]:
        self._family = family(self._popen.pid, self._family)
        return self._family

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)


@contextmanager
def running(
    command: Sequence[str],
    environment: Mapping[str, str],
    path: Path,
    signals: Signals,
    report: Report,
) -> Iterator[Job]:
    """Start a command; at the end, however it comes, nothing of it is left.

    What it prints is in `path`, without the secrets of the command and the environment.

    Raises:
        CaptureError: there is no such command, or no room for its log.
    """
    log = MaskedLog(path, known_secrets(command, environment))
    with signals.deferred():
        job = Job(command, environment, log, "the command after --")
        try:
            with signals.allowed():
                yield job
        finally:
            try:
                _tell_wait(job, signals, report)
            finally:
                job.stop(lambda: signals.is_urgent)
    log.refuse_incomplete()


def _tell_wait(job: Job, signals: Signals, report: Report) -> None:
    """After a signal; a terminal that was closed hears nothing any more."""
    if signals.received and not signals.is_urgent and job.exit_code is None:
        with suppress(OSError):
            report.note(
                f"stopping: {job.command} has {job.grace_s:.0f} s to end by itself; "
                "Ctrl-C again ends it at once"
            )


def _start(
    command: Sequence[str], environment: Mapping[str, str], origin: str
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        place = error.filename or command[0]
        raise CaptureError(
            f"{place}: cannot be started: {error.strerror}; check {origin}"
        ) from error
