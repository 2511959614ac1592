"""Which Python runs an engine: found from the command, never by starting the engine."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

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
    script = shutil.which(command[place], path=environment.get("PATH"))
    if script is None and not before:
        raise CaptureError(f"{command[place]}: no such program; check the command after --")
    return before + (_of_script(Path(script)) if script else ("python",))


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
