"""Every file at or below a path, with its kind: links followed once, nothing waited for."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import RunError
from tracekit.readers.kind import Kind, kind_of

MAX_FILES = 10_000
"""Files a folder may hold before it is taken for a mistake: a home folder, a disk."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file and what it is; `shown` is its path as table `file` and messages have it."""

    path: Path
    shown: str
    kind: Kind
    bytes: int


def files_at(path: Path) -> list[InputFile]:
    """Files at or below `path` in order of their paths; hidden ones are left out.

    Pipes, devices, sockets and broken links below a folder are `other`, and never opened.

    Raises:
        RunError: `path` is missing or no file, something cannot be read, or too much is there.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise _cannot_read(path, error) from error
    if stat.S_ISDIR(mode):
        return list(_limited(path, _below(path, set())))
    if not stat.S_ISREG(mode):
        raise RunError(f"{path}: neither a file nor a folder; give a trace or a run folder")
    return [_looked_at(path)]


def as_text(path: str | os.PathLike[str]) -> str:
    """A path as text that any database takes: bytes that are no UTF-8 are escaped."""
    return os.fsdecode(path).encode("utf-8", "backslashreplace").decode("utf-8")


def _limited(path: Path, files: Iterator[InputFile]) -> Iterator[InputFile]:
    for count, file in enumerate(files):
        if count == MAX_FILES:
            raise RunError(f"{path}: more than {MAX_FILES} files; give the folder of one run")
        yield file


def _below(folder: Path, seen: set[str]) -> Iterator[InputFile]:
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise _cannot_read(folder, error) from error
    for entry in entries:
        real = os.path.realpath(entry)
        if real in seen:
            continue
        seen.add(real)
        if entry.is_dir():
            yield from _below(entry, seen)
        else:
            yield _looked_at(entry)


def _looked_at(path: Path) -> InputFile:
    if not path.is_file():
        return InputFile(path, as_text(path), "other", 0)
    try:
        return InputFile(path, as_text(path), kind_of(path), path.stat().st_size)
    except OSError as error:
        raise _cannot_read(path, error) from error


def _cannot_read(path: Path, error: OSError | ValueError) -> RunError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return RunError(f"{as_text(path)}: cannot be read: {reason}; check the path and its rights")
