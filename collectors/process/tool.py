"""Asks a tool of the system, such as nvidia-smi, that may be missing, broken or hang."""

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

MAX_BYTES = 4 * 1024 * 1024
_BURIAL_S = 2.0
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool wrote to stdout; `problem` says why that is no answer, None where it is one."""

    text: str
    problem: str | None = None
    is_found: bool = True
    is_late: bool = False


def ask(
    command: Sequence[str], environment: Mapping[str, str] | None = None, timeout_s: float = 10.0
) -> Answer:
    """Output of a tool, which is ended with all it started where it takes longer."""
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                command,
                env={**(os.environ if environment is None else environment), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                start_new_session=True,
            )
        except FileNotFoundError:
            return Answer("", "not found", is_found=False)
        except OSError as error:
            return Answer("", f"cannot be started: {error.strerror}")
        try:
            return _answer(process, complaints, timeout_s)
        finally:
            end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a tool and all it started; one that hangs in its driver is left to the kernel."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout:
        process.stdout.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_BURIAL_S)


def _answer(process: "subprocess.Popen[bytes]", complaints: IO[bytes], timeout_s: float) -> Answer:
    deadline = time.monotonic() + timeout_s
    output, is_whole = _read(process.stdout, deadline)
    text = output.decode("utf-8", "replace")
    if len(output) >= MAX_BYTES:
        return Answer(text, f"wrote more than {MAX_BYTES >> 20} MB")
    try:
        code = process.wait(max(0.0, deadline - time.monotonic())) if is_whole else None
    except subprocess.TimeoutExpired:
        code = None
    if code is None:
        return Answer(text, f"no answer in {timeout_s:g} s", is_late=True)
    return Answer(text, _failure(code, text, complaints) if code else None)


def _read(pipe: IO[bytes] | None, deadline: float) -> tuple[bytes, bool]:
    """What came until the deadline, and whether the end was reached."""
    output = b""
    poll = select.poll()
    if pipe:
        poll.register(pipe, select.POLLIN)
    while pipe and len(output) < MAX_BYTES:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return output, False
        if not (chunk := os.read(pipe.fileno(), 1 << 16)):
            return output, True
        output += chunk
    return output, False


def _failure(code: int, text: str, complaints: IO[bytes]) -> str:
    """The exit code, and the first line of the output or else the last of stderr."""
    complaints.seek(0)
    errors = complaints.read(MAX_BYTES).decode("utf-8", "replace")
    lines = (line.strip() for line in (*text.splitlines(), *reversed(errors.splitlines())))
    reason = next(filter(None, lines), "")
    return f"exit code {code}" + (f": {reason[:_SHOWN]}" if reason else "")
