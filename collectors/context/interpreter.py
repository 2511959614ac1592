"""Which Python runs an engine, and what it tells; the engine is never started for that."""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from typing import Any

from tracekit.collectors.process.tool import ask
from tracekit.errors import CaptureError

_HEAD_BYTES = 1024
_SHEBANG = re.compile(rb"#!\s*(\S[^\n]*?)\s*$", re.MULTILINE)
_TRAMPOLINE = re.compile(rb"^'''exec' (?:\"([^\"\n]+)\"|(\S+)) ", re.MULTILINE)
"""What pip writes after `#!/bin/sh` where a path is too long for a first line, or has spaces.

Source: distlib's scripts.py, `'''exec' PYTHON "$0" "$@"`.
"""


def interpreter_of(
    command: Sequence[str], place: int, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Words that start the Python of the engine, which `command` names at `place`.

    What stands before (`env X=1`, `numactl -C 0`) is kept: it may choose the Python.

    Raises:
        CaptureError: there is no such program.
    """
    before = tuple(command[:place])
    if before and before[-1] == "-m":
        return before[:-1]
    if PurePath(command[place]).name.startswith("python"):
        return (*before, command[place])
    script = shutil.which(command[place], path=environment.get("PATH"))
    if script is None and not before:
        raise CaptureError(f"{command[place]}: no such program; check the command after --")
    return before + (_of_script(Path(script)) if script else ("python",))


def told_by(
    python: Sequence[str], environment: Mapping[str, str], probe: Traversable, timeout_s: float
) -> tuple[dict[str, Any], str | None]:
    """The JSON object that a script prints which runs in `python`, or the problem."""
    answer = ask([*python, "-c", probe.read_text("utf-8")], environment, timeout_s)
    if answer.problem:
        return {}, answer.problem
    try:
        told = json.loads(answer.text.splitlines()[-1])
    except (ValueError, IndexError):
        told = None
    return (told, None) if isinstance(told, dict) else ({}, "does not answer as a Python does")


def _of_script(script: Path) -> tuple[str, ...]:
    try:
        with script.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return ("python",)
    if found := _TRAMPOLINE.search(head):
        return ((found[1] or found[2]).decode("utf-8", "surrogateescape"),)
    first = _SHEBANG.match(head)
    words = first[1].decode("utf-8", "surrogateescape").split() if first else []
    return tuple(words) if any("python" in word for word in words) else ("python",)
