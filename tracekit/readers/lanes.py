"""Slices of a trace into the table `event`, each through the fastest lane that can read it.

bare        the next one without the args of collectives; left for good where there are any
fast        DuckDB's JSON reader with every column typed, and times as DOUBLE where that is exact
strict      the same with times as DECIMAL
lenient     the same, for slices that are JSON, with args as text
piecewise   event by event, for slices that are not JSON
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from tracekit.readers.cutting import cut
from tracekit.readers.plain import Plain
from tracekit.readers.salvage import Piece, events_of, pieces_of
from tracekit.readers.slices import PROTOCOL, Slice, SliceFileSystem
from tracekit.readers.statements import statement
from tracekit.rules import builtin_document

_SALVAGE_BYTES = 4 << 20
"""Part of a slice that is taken apart in Python at a time."""

_SHOWN_BYTES = 200
"""Of an event too long to be read."""

_OF_2021 = re.compile(rb'"cat"\s*:\s*"(?:Operator|Runtime|Kernel|Memcpy|Memset)"')
"""Files in which `External id` is spelled in two ways: the lenient lane alone knows both."""

_HEAD_BYTES = 8 << 20
"""Of a file, searched for what tells its lane: a batch that a lane fails on is read twice."""

_TIME = re.compile(rb'"(?:ts|dur)"\s*:\s*-?(\d+)(\.\d+)?')
_TIMED_BYTES = 1 << 20
"""Of a file's head, looked at for the form of its times: about 4,000 events."""

_SMALL = b"8796093022208"
"""2^43: microseconds below it are held to the nanosecond by DOUBLE."""

_DECIMAL = "DECIMAL(38, 3)"

_OF_COLLECTIVES = """,
            dtype VARCHAR,
            "In msg nelems" DECIMAL(22, 3),
            "Out msg nelems" DECIMAL(22, 3),
            "Group size" BIGINT,
            "Process Group Name" VARCHAR,
            "Process Group Description" VARCHAR,
            "Process Group Ranks" VARCHAR,
            Seq BIGINT,
            "Input type" VARCHAR"""
"""Members of args; to look for them in events that have none costs an eighth of the reading.

Numbers of elements are DECIMAL: as BIGINT, a part of one would be rounded silently.
"""

_UNREADABLE = (
    duckdb.InvalidInputException,
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.OutOfMemoryException,  # of an event of megabytes: the last lane tells it from others
)


@dataclass(frozen=True, slots=True)
class Lane:
    """A way to read slices: the query, and the macros that make nanoseconds of its times.

    A lane that `is_bare` fails where an event tells of a collective; one that `is_lenient` has
    args as text, and tells where they should be numbers and are none.
    """

    source: str
    ns_of_ts: str = "ns_of_decimal"
    ns_of_dur: str = "ns_of_decimal"
    is_bare: bool = False
    is_lenient: bool = False

    @property
    def load(self) -> str:
        """Statement that loads what the query gives."""
        kept = "error('tells of a collective')::JSON" if self.is_bare else "to_json(args)"
        untyped = "untyped_member(args)" if self.is_lenient else "NULL"
        load = statement("load").replace("{source}", self.source)
        load = load.replace("{collective}", kept).replace("{untyped}", untyped)
        return load.replace("{ns_of_ts}", self.ns_of_ts).replace("{ns_of_dur}", self.ns_of_dur)


@dataclass(slots=True)
class Doubt:
    """Kept events that something is wrong with: how many, and one of them."""

    count: int = 0
    example: str | None = None

    def add(self, example: str) -> None:
        """Count one more."""
        self.count += 1
        self.example = self.example or example

    def __str__(self) -> str:
        """For the ledger."""
        return f"{self.count} events, such as {self.example}"


_PIECEWISE = Lane(statement("piecewise"), is_lenient=True)


class Lanes:
    """Loads slices of one file; `repaired` tells of events whose text had to be mended."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        plain: Plain,
        file_id: int,
        *,
        base_ns: int,
        is_frontend: bool,
    ) -> None:
        self.repaired = Doubt()
        self._con = con
        self._plain = plain
        self._common = {
            "file_id": file_id,
            "base_ns": base_ns,
            "is_frontend": is_frontend,
            "collective_op": builtin_document()["collective_op"]["pattern"],
        }
        self._slices = SliceFileSystem(plain, file_id)
        self._lenient = Lane(statement("lenient"), is_lenient=True)
        self._lanes = [*_typed(plain), self._lenient]

    def load(self, batch: Sequence[Slice]) -> None:
        """Load some slices at once, on several threads."""
        self._lose_long([part for part in batch if part.is_too_long])
        usual = [part for part in batch if not part.is_too_long]
        self._con.register_filesystem(self._slices)
        try:
            if usual:
                self._load(usual)
        finally:
            self._con.unregister_filesystem(PROTOCOL)

    def _load(self, batch: Sequence[Slice]) -> None:
        if any(self._took(lane, batch) for lane in [*self._lanes]):
            return
        half = len(batch) // 2
        if half:
            self._load(batch[:half])
            self._load(batch[half:])
        else:
            self._load_apart(batch[0])

    def _load_apart(self, whole: Slice) -> None:
        for part in cut(self._plain, whole, _SALVAGE_BYTES):
            if part.is_too_long:
                self._lose_long([part])
            elif not self._took(self._lenient, [part]):
                self._salvage(part)

    def _took(self, lane: Lane, batch: Sequence[Slice]) -> bool:
        try:
            self._insert(lane, {"slices": [self._slices.url(part) for part in batch]})
        except duckdb.Error as error:
            self._plain.check()
            if not isinstance(error, _UNREADABLE):
                raise
            if lane.is_bare:
                self._lanes.remove(lane)
            return False
        return True

    def _insert(self, lane: Lane, values: dict[str, list[str]]) -> None:
        self._con.execute(lane.load, values | self._common)

    def _salvage(self, part: Slice) -> None:
        pieces = pieces_of(self._plain.read(part.start, part.end), part.start)
        try:
            self._take(pieces)
        except duckdb.OutOfMemoryException:
            if part.end - part.start < _SALVAGE_BYTES:
                raise
            for piece in pieces:
                self._take_alone(piece)

    def _take_alone(self, piece: Piece) -> None:
        try:
            self._take([piece])
        except duckdb.OutOfMemoryException:
            if len(piece.data) < _SALVAGE_BYTES:
                raise
            self._lose("event too long", [piece])

    def _take(self, pieces: Sequence[Piece]) -> None:
        events = list(events_of(pieces, self._valid(pieces)))
        texts = [event.text for event in events if event.text is not None]
        self._insert(_PIECEWISE, {"texts": texts})
        self._lose("not JSON", [event.piece for event in events if event.text is None])
        for event in events:
            if event.text is not None and event.is_repaired:
                self.repaired.add(event.piece.shown())

    def _lose_long(self, parts: Sequence[Slice]) -> None:
        shown = [self._plain.read(part.start, part.start + _SHOWN_BYTES) for part in parts]
        pieces = [Piece(part.start, data, None) for part, data in zip(parts, shown, strict=True)]
        self._lose("event too long", pieces)

    def _lose(self, reason: str, pieces: Sequence[Piece]) -> None:
        examples = [piece.shown() for piece in pieces]
        values = {"file_id": self._common["file_id"], "reason": reason, "examples": examples}
        self._con.execute(statement("lost"), values)

    def _valid(self, pieces: Sequence[Piece]) -> list[bool]:
        texts = [piece.text for piece in pieces]
        row = self._con.execute(statement("valid"), {"texts": texts}).fetchone()
        assert row is not None
        return list(row[0])


def _typed(plain: Plain) -> list[Lane]:
    head = plain.read(0, _HEAD_BYTES)
    if _OF_2021.search(head):
        return []
    ns = _ns_of_double(_TIME.findall(head[:_TIMED_BYTES]))
    bare = [] if b'"Collective name"' in head else [_fast(ns, is_bare=True)]
    return [*bare, _fast(ns), Lane(_source(_DECIMAL, _DECIMAL, _OF_COLLECTIVES))]


def _fast(ns_of_ts: str | None, *, is_bare: bool = False) -> Lane:
    """Durations as DOUBLE: they are small; starts by a macro for DOUBLE, or as DECIMAL."""
    ts = "DOUBLE" if ns_of_ts else _DECIMAL
    source = _source(ts, "DOUBLE", "" if is_bare else _OF_COLLECTIVES)
    return Lane(source, ns_of_ts or "ns_of_decimal", "ns_of_small", is_bare)


def _source(ts: str, dur: str, of_collectives: str) -> str:
    typed = statement("strict").replace("{ts}", ts).replace("{dur}", dur)
    return typed.replace("{of_collectives}", of_collectives)


def _ns_of_double(times: Sequence[tuple[bytes, bytes]]) -> str | None:
    """Macro for starts as DOUBLE, told by times of the head; None where only DECIMAL is exact."""
    if not any(decimals for _, decimals in times):
        return "ns_of_whole"
    is_small = all((len(whole), whole) < (len(_SMALL), _SMALL) for whole, _ in times)
    return "ns_of_small" if is_small else None
