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
from tracekit.collectors.secrets import known_secrets
from tracekit.errors import CaptureError

GRACE_S = 30.0
"""Time to end after SIGTERM; vLLM takes under 1 s, writing out a profile takes longer."""

CLOSE_S = 5.0
"""Wait for the last of a log: a process that escaped may hold it open."""

POLL_S = 0.1
_TAIL_BYTES = 64 * 1024


class Server:
    """A command that runs; `log` has what it writes to stdout and stderr."""

    def __init__(
        self, popen: "subprocess.Popen[bytes]", log: Path, printed: MaskedLog | None = None
    ) -> None:
        """`popen` leads a session of its own; `printed` writes `log` where that takes a while."""
        self._popen = popen
        self._printed = printed
        self._family: frozenset[Process] = frozenset()
        self.log = log

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative where a signal ended it."""
        self._family = family(self._popen.pid, self._family)
        return self._popen.poll()

    def log_size(self) -> int:
        """Bytes of the log once all that was printed so far is in it."""
        return self._printed.size() if self._printed else self.log.stat().st_size

    def tail(self, n_lines: int) -> list[str]:
        """Its last lines."""
        self.log_size()
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
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
        self._wait(GRACE_S, is_urgent)
        self.kill()
        self._wait(GRACE_S, lambda: False)

    def _wait(self, timeout_s: float, is_urgent: Callable[[], bool]) -> None:
        deadline = time.monotonic() + timeout_s
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
    command: Sequence[str], environment: Mapping[str, str], log: Path, signals: Signals
) -> Iterator[Server]:
    """Start a command; at the end, however it comes, nothing of it is left.

    What it prints is in `log`, without the secrets of the command and the environment.

    Raises:
        CaptureError: there is no such command, or no room for its log.
    """
    printed = MaskedLog(log, known_secrets(command, environment))
    with signals.deferred():
        popen = _start(command, environment)
        server = Server(popen, log, printed)
        try:
            printed.read(cast("IO[bytes]", popen.stdout))
            with signals.allowed():
                yield server
        finally:
            server.stop(lambda: signals.is_urgent)
            printed.close(CLOSE_S)
    printed.refuse_incomplete()


def _start(command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
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
            f"{place}: cannot be started: {error.strerror}; check the command after --"
        ) from error
