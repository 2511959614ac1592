"""JSON files of a model folder, read within bounds: what is in them is somebody else's."""

import errno
import json
import os
import stat
import sys
from pathlib import Path

from tracekit.errors import ModelError

MAX_JSON_BYTES = 128 << 20
"""Largest file that is read whole; the largest tokenizer.json seen has 33 MB."""

_LFS_POINTER = b"version https://git-lfs"


def json_object(path: Path) -> dict[str, object]:
    """The object that a JSON file holds. Raises ModelError."""
    return parsed_object(path.name, whole_file(path))


def parsed_object(place: str, data: bytes) -> dict[str, object]:
    """The object that bytes hold as JSON. Raises ModelError with `place`."""
    try:
        value = json.loads(data)
    except RecursionError as error:
        raise ModelError(f"{place}: nested too deep; download it again") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{place}: not JSON: {error}; download it again") from error
    except ValueError as error:  # the only other one that the parser has
        what = f"a number of over {sys.get_int_max_str_digits():,} digits"
        raise ModelError(f"{place}: {what}; download it again") from error
    if not isinstance(value, dict):
        raise ModelError(f"{place}: no JSON object; download it again")
    return value


def whole_file(path: Path) -> bytes:
    """All bytes of a file of bounded size. Raises ModelError."""
    data = first_bytes(path, MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        limit = f"over {MAX_JSON_BYTES >> 20} MiB"
        raise ModelError(f"{path.name}: {limit}, no such file has; download it again")
    return data


def first_bytes(path: Path, n_bytes: int) -> bytes:
    """At most `n_bytes` from the head of a regular file. Raises ModelError."""
    if what := _why_no_file(path):  # opening a pipe would wait for ever
        raise ModelError(f"{path.name}: {what}")
    try:
        with path.open("rb") as file:
            data = file.read(n_bytes)
    except OSError as error:
        raise ModelError(f"{path.name}: {error.strerror}; make it readable") from error
    if data.startswith(_LFS_POINTER):
        raise ModelError(f"{path.name}: a Git LFS pointer, not the file; run git lfs pull")
    return data


def is_there(path: Path) -> bool:
    """Whether a folder has an entry of this name, be it a file that can be read or not."""
    return os.path.lexists(path)


def _why_no_file(path: Path) -> str:
    """What stands in place of a regular file, and what to do; empty where it is one."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return _why_not_found(path, error)
    if stat.S_ISDIR(mode):
        return "a folder, not a file; put the model's own there"
    is_file = stat.S_ISREG(mode)
    return "" if is_file else "a pipe or device, not a file; put the model's own there"


def _why_not_found(path: Path, error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "a link that leads back to itself; put the file there"
    if path.is_symlink():
        return "a link to a file that is not there; put the file there"
    if error.errno == errno.ENOENT:
        return "no such file; name the folder of a model"
    return f"{error.strerror}; make it readable"
