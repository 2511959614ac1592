"""Lines that are not whole: counted, and put together where one completion alone fits.

They tear in three ways: at 4,096 bytes (stdio's blocks), in pieces of 128 bytes (NCCL 2.29 on an
unbuffered stdout), and where something else is written in the midst of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from tracekit.readers.nccl_log.facts import Row
from tracekit.readers.nccl_log.formats import form_of
from tracekit.readers.nccl_log.text import Header, Piece
from tracekit.readers.nccl_log.trust import NOBODY, Process

PIECE_BYTES = 128
WINDOW_BYTES = 256 << 10
"""How far behind a head its tail is looked for: some blocks of each of eight ranks and more."""

HEAD = (
    r"\w+: opCount|(?:Channel|CollNet) \d|Trees \[|\d+ coll channels|Init timings"
    r"|(?:\[Rank \d+\] )?(?:ncclComm\w* ?(?:comm)?|comm 0x)"
    r"|(?:\w+(?: \[[\w ]+\])?: )?\d+ Bytes|nccl[A-Z]\w*\(0x"
    r"|(?:All|Red|Bro|Sen|Rec)[A-Za-z]*:?(?: o\w*)?$|\s*\w+ \|(?: +\d)"
)
"""Beginnings of messages that have a form of their own, for RE2 and Python alike."""

_HEAD = re.compile(HEAD)
_BEGINNING = 4
"""Characters by which heads are told apart."""

_TAIL = re.compile(
    r"\[nranks=\d+\] stream|\bstream (?:0x[0-9a-f]+|\(nil\))$|globalrank \d+$|recvbuff 0x"
    r"|- (?:Init|Destroy|Abort|Finalize) (?:START|COMPLETE)$|channel\{Lo\.\.Hi\}=\{"
    r"|\] via (?:P2P|SHM|NET)/|NCCL (?:INFO|WARN|CALL) "
)
_CUT_HEADER = re.compile(
    r"[\w.\-:]$"
    r"|:\d+:\d+ (?:\[(?:\d+(?:\] ?)?)?)?(?:N(?:C(?:C(?:L(?: \w*)?)?)?)?)?$"
    r"|(?<![\w.\-:])[A-Za-z_][\w.\-]*:\d+:\d+ \["
)
"""The end of what precedes a header where it is none of the prefixes."""

_BARE_TAIL = re.compile(r"[0-9a-fx]{1,18}|\S*(?:START|COMPLETE|\]|\})")


_IN_STREAM = re.compile(r"stream (?:0(?:x[0-9a-f]*)?|\(\w*\)?)?$")


@dataclass(slots=True)
class Tears:
    """What was torn: where first, how many lines, how many heads end within a stream."""

    first_at: int | None = None
    n: int = 0
    n_in_stream: int = 0
    example: str = ""

    def add(self, at_byte: int, text: str) -> None:
        """Count a head or a tail that stands alone."""
        self.n += 1
        if self.first_at is None or at_byte < self.first_at:
            self.first_at = at_byte
            self.example = f"byte {at_byte}: {text.strip()}"


@dataclass(frozen=True, slots=True)
class _Open:
    header: Header
    text: str
    length: int


class _Last:
    """The latest head that begins in one way, and the latest of another process than its."""

    def __init__(self, at_byte: int, process: Process, last: "_Last | None") -> None:
        self._at_byte = at_byte
        self._process = process
        self._other_at = last.of_another(process) if last else None

    def of_another(self, process: Process) -> int | None:
        """Byte of the latest head of another process than that one; None without."""
        return self._other_at if process == self._process else self._at_byte


class Mender:
    """Keeps the heads whose tails are still to come, one per process.

    `heads` are all torn ones, to be taken out now and then.
    """

    def __init__(self) -> None:
        self.tears = Tears()
        self.heads: list[Row] = []
        self.n_mended = 0
        self._open: dict[Process, _Open] = {}
        self._last: dict[str, _Last] = {}
        self._n_heads = 0
        self._n_cut = 0
        self._n_of_pieces = 0

    @property
    def is_in_pieces(self) -> bool:
        """Whether lines are cut at the same place each time: chance may say things twice."""
        return self._n_of_pieces * 2 > self._n_cut

    def head(self, header: Header, piece: Piece) -> None:
        """Take what may be the head of a message; nothing where it looks like none."""
        if piece.is_ended and not _HEAD.match(piece.text):
            return
        self.tears.add(header.at_byte, piece.text)
        self.tears.n_in_stream += _IN_STREAM.search(piece.text) is not None
        self._remember(header.at_byte, header.process, piece.text)
        if not piece.is_ended:
            self._n_cut += 1
            self._n_of_pieces += piece.length % PIECE_BYTES == 0
            self._open[header.process] = _Open(header, piece.text, piece.length)

    def cut_header(self, at_byte: int, piece: Piece) -> None:
        """Take what stands before a header, or alone, and may be the head of a header."""
        if _CUT_HEADER.search(piece.text) and (not piece.is_ended or "[" in piece.text):
            if not _TAIL.search(piece.text):  # which has been counted
                self.tears.add(at_byte, piece.text)
            self._remember(at_byte, NOBODY, "")

    def tail(self, at_byte: int, piece: Piece) -> tuple[Header, str] | None:
        """The message that a piece without header completes; None where not exactly one does."""
        fitting = self._fitting(at_byte, piece.text) if piece.is_ended else []
        if len(fitting) == 1:
            (one,) = fitting
            del self._open[one.header.process]
            self.tears.n -= 1  # its head is whole again
            self.n_mended += 1
            return one.header, one.text + piece.text
        if fitting or _TAIL.search(piece.text):
            self.tears.add(at_byte, piece.text)
        return None

    def begins(self, header: Header) -> None:
        """Forget the head that the process had open: its tail has gone by."""
        self._open.pop(header.process, None)

    def is_doubtful(self, header: Header, text: str) -> bool:
        """Whether a message that looks whole may end in the tail of another process's.

        That one began alike; of a head cut early anything may be the tail.
        """
        ends = range(min(len(text), _BEGINNING) + 1) if self._last else ()
        heads = (
            last.of_another(header.process) for end in ends if (last := self._last.get(text[:end]))
        )
        return any(at is not None and _is_near(at, header.at_byte) for at in heads)

    def _remember(self, at_byte: int, process: Process, text: str) -> None:
        beginning = text[:_BEGINNING]
        self._last[beginning] = _Last(at_byte, process, self._last.get(beginning))
        self._n_heads += 1
        host, pid = process
        row: Row = {"place": self._n_heads, "at_byte": at_byte, "host": host, "pid": pid}
        self.heads.append(row | {"beginning": beginning})

    def _fitting(self, at_byte: int, text: str) -> list[_Open]:
        """Heads that a tail completes, two at most: best those cut where pieces are."""
        if not (self._open and (_TAIL.search(text) or _BARE_TAIL.fullmatch(text.strip()))):
            return []
        near = [one for one in self._open.values() if _is_near(one.header.at_byte, at_byte)]
        pieces = [one for one in near if one.length % PIECE_BYTES == 0]
        others = [one for one in near if one.length % PIECE_BYTES]
        return _two(pieces, text) or _two(others, text)


def _two(heads: Sequence[_Open], text: str) -> list[_Open]:
    return list(islice((one for one in heads if form_of(one.text + text)), 2))


def _is_near(head_at: int, at_byte: int) -> bool:
    return at_byte - head_at < WINDOW_BYTES
