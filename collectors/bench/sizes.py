"""Message sizes and sequences of them, as a user writes them."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

MAX_BYTES = 16 << 30
MAX_SIZES = 64
MAX_CALLS = 4096
"""In a burst; a decode step of a large model has some 130."""

DTYPES = {"bfloat16": 2, "float16": 2, "float32": 4}
"""Element types that can be measured, by torch's names, and their bytes; the first by default."""

_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_SIZE = re.compile(r"(\d{1,12}) ?(B|[KMG]iB|)", re.I)
_CALLS = re.compile(r"(\d{1,6}) ?[x*] ?(.+)", re.I)


class Calls(NamedTuple):
    """As many calls in a row of one size."""

    n_calls: int
    n_bytes: int


def sizes_of(text: str) -> tuple[int, ...]:
    """Bytes of `14KiB,56KiB`, and of `1KiB-64MiB` all its doublings; ascending.

    Raises:
        ValueError: it is written in another way, or has more than `MAX_SIZES`.
    """
    found = {n_bytes for part in text.split(",") for n_bytes in _range(part.strip())}
    if len(found) > MAX_SIZES:
        raise ValueError(f"{len(found)} sizes: take {MAX_SIZES} at most")
    return tuple(sorted(found))


def burst_of(text: str) -> tuple[Calls, ...]:
    """Calls of `2x56KiB,125x14KiB`, in this order.

    Raises:
        ValueError: it is written in another way, or has more than `MAX_CALLS`.
    """
    return checked(_calls(part.strip()) for part in text.split(","))


def sequence_of(sizes: Iterable[int]) -> tuple[Calls, ...]:
    """Calls of these sizes, one after the other.

    Raises:
        ValueError: there are more than `MAX_CALLS`.
    """
    return checked(Calls(len(list(calls)), n_bytes) for n_bytes, calls in groupby(sizes))


def checked(calls: Iterable[Calls]) -> tuple[Calls, ...]:
    """The calls, unless they are too many."""
    found = tuple(calls)
    if (n_calls := sum(call.n_calls for call in found)) > MAX_CALLS:
        raise ValueError(f"{n_calls:,} calls: take {MAX_CALLS:,} at most")
    return found


def _range(text: str) -> Iterator[int]:
    first, dash, last = text.partition("-")
    n_bytes, end = _bytes(first), _bytes(last if dash else first)
    if n_bytes > end:
        raise ValueError(f"{text!r}: write the smaller size first")
    while n_bytes <= end:
        yield n_bytes
        n_bytes *= 2


def _calls(text: str) -> Calls:
    found = _CALLS.fullmatch(text)
    n_calls, size = (int(found[1]), found[2]) if found else (1, text)
    if n_calls == 0:
        raise ValueError(f"{text!r}: write one call at least")
    return Calls(n_calls, _bytes(size))


def _bytes(text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    n_bytes = int(found[1]) * _UNITS[found[2].upper()] if found else 0
    if not 0 < n_bytes <= MAX_BYTES:
        raise ValueError(f"{text!r}: write a size up to 16GiB, such as 14KiB, 1MiB or 14336")
    return n_bytes
