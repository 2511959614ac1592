"""JSON files of a model folder, read within bounds: what is in them is somebody else's."""

import json
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
    except ValueError as error:
        raise ModelError(f"{place}: not JSON: {error}; download it again") from error
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
    if not path.is_file():  # opening a pipe would wait for ever
        raise ModelError(f"{path.name}: no such file; name the folder of a model")
    try:
        with path.open("rb") as file:
            data = file.read(n_bytes)
    except OSError as error:
        raise ModelError(f"{path.name}: {error.strerror}; make it readable") from error
    if data.startswith(_LFS_POINTER):
        raise ModelError(f"{path.name}: a Git LFS pointer, not the file; run git lfs pull")
    return data
