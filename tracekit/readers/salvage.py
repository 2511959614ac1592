"""The last lane: a slice that is not JSON, event by event."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tracekit.readers.boundary import BOUNDARY

# A backslash that begins no escape of JSON: Windows paths (pytorch/kineto#336), lone surrogates.
_RAW_BACKSLASH = re.compile(
    r'\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\)"
)
_NO_NUMBER = re.compile(r"(:\s*)(?:N/A|-?inf|-?nan)(?=\s*[,}])")  # pytorch/kineto PR#128, #105
_DECODER = json.JSONDecoder(strict=False, parse_float=str)  # as text a time keeps every digit
_ENDS = re.compile(r"[\s,]*(?:\]|$)")  # with its piece, or with the array
_MAX_JOINED = 16
_MAX_REPAIRED_BYTES = 8 << 20  # as Python's objects, JSON takes up to thirty times as much


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes between two boundaries, most often one event; `byte` is where they stand in the file.

    `text` is None where they are no UTF-8.
    """

    byte: int
    data: bytes
    text: str | None

    def shown(self) -> str:
        """Place and text, for the ledger."""
        return f"byte {self.byte}: {self.data[:200].decode('utf-8', 'replace')}"


@dataclass(frozen=True, slots=True)
class Event:
    """An event as JSON, and the piece it begins with; None where it is lost."""

    piece: Piece
    text: str | None
    is_repaired: bool


def pieces_of(data: bytes, first_byte: int) -> list[Piece]:
    """Take `data`, which begins at `first_byte` of the file, apart at its boundaries."""
    matches = list(BOUNDARY.finditer(data))
    starts = [0, *(match.end() for match in matches)]
    ends = [*(match.start() + 1 for match in matches), len(data)]
    parts = ((first_byte + a, data[a:b]) for a, b in zip(starts, ends, strict=True))
    return [Piece(byte, part, _text(part)) for byte, part in parts]


def events_of(pieces: Sequence[Piece], is_valid: Sequence[bool]) -> Iterator[Event]:
    """The events that the pieces hold, given which of them are JSON.

    Repaired are control characters, bytes that are no UTF-8, backslashes that escape nothing and
    numbers that are none. Pieces that a boundary within args has cut apart are joined.
    """
    index = 0
    while index < len(pieces):
        piece = pieces[index]
        text, taken = (
            (piece.text, 1) if is_valid[index] else _decoded(pieces[index : index + _MAX_JOINED])
        )
        if text is None:  # what has no `ph` is the rest of it
            rest = takewhile(lambda piece: b'"ph"' not in piece.data, pieces[index + 1 :])
            taken += sum(1 for _ in rest)
        yield Event(piece, text, is_repaired=not is_valid[index] and taken == 1)
        index += taken


def _decoded(pieces: Sequence[Piece]) -> tuple[str | None, int]:
    """First event of `pieces` and how many of them it takes; None and 1 where it is lost."""
    text = ""
    for taken, piece in enumerate(pieces, start=1):
        if len(text) + len(piece.data) > _MAX_REPAIRED_BYTES:
            break
        text += ("," if text else "") + _mended(piece.data.decode("utf-8", "replace"))
        try:
            event, end = _DECODER.raw_decode(text)
            return (json.dumps(event), taken) if _ENDS.match(text, end) else (None, 1)
        except json.JSONDecodeError as error:
            if error.pos < len(text.rstrip()):
                break  # more text cannot help
        except (ValueError, RecursionError):
            break
    return None, 1


def _mended(text: str) -> str:
    return _NO_NUMBER.sub(r"\1null", _RAW_BACKSLASH.sub(_doubled, text))


def _doubled(match: re.Match[str]) -> str:
    return "\\\\" if match[1] else match[0]


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
