"""The fast lane: whole lines of a log, slice by slice, by DuckDB on several threads.

Huge logs are nearly all calls, or messages that tell all by themselves. Other lines, torn ones
among them, are handed on as text in the order of the file.
"""

import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from threading import local

import duckdb

from tracekit.readers.nccl_log.formats import CALL, CHOICES, LINK
from tracekit.readers.nccl_log.notes import PATTERNS
from tracekit.readers.nccl_log.text import ANSI, HOST, PREFIXES, STAMP, Line
from tracekit.readers.nccl_log.torn import HEAD
from tracekit.readers.plain import Plain
from tracekit.readers.statements import statement

SLICE_BYTES = 4 << 20
"""Of a log, read at a time: 2 MB take a fifth longer, 8 MB more memory."""

MAX_LINE_BYTES = 64 << 10
"""A longer line is cut: NCCL's have at most 1,024 bytes, RCCL's 4,096."""

_MAX_THREADS = 4
_LINE_FEED, _RETURN = b"\n", b"\r"
_LINE_END = re.compile(rb"[\n\r]")
_COLOURED = rf"(?:(?:{ANSI})+{PREFIXES}(?:{ANSI})* )?"
_BEFORE = rf"{_COLOURED}{PREFIXES}(?:{STAMP})?"
_PROCESS = r":\d{1,18}:\d{1,18} (?:\[\d{1,9}\] )?"
_WHOLE = rf"{_BEFORE}{HOST}{_PROCESS}NCCL INFO {CALL}"
_MAX_MESSAGE_BYTES = 4 << 10
"""The slow lane counts those that are longer than NCCL's."""

_MESSAGE = re.sub(r"\(\?P<\w+>", "(?:", "|".join([*CHOICES, LINK, *PATTERNS]))
_WARNING = r"(?:[^\s:]+:\d+ (?:\([^)]*\) )?)?NCCL WARN "
_PLACE = r" ([^\s:]+:\d+)(?: \([^)]*\))?$"
_PLAIN = r"[\t -~]*"
_UNCLEAR = r"NCCL .*NCCL (?:INFO|WARN|TRACE|CALL)|\[repeated \d{1,9}x across cluster\]"
_SLOW = rf"NCCL INFO (?:{HEAD}|(?:RCCL|NCCL) version|.*\|)"
"""Messages that need others to be understood, or are torn."""

_INTEREST = (
    r"[NR]CCL|[A-Za-z_][\w.\-]*:\d+:\d+ |opCount|sendbuff|recvbuff|datatype \d|nranks|nRanks|busId"
    r"|commId|stream (?:0x|\()|(?:START|COMPLETE)$| via |Bytes ->|proto |channel\{|globalrank"
    r"|^ ?[0-9a-fx]{1,18}$"
)
"""What a line holds that may be a message, or a part of one."""

_NOTHING = r"[^\x00-\x{10FFFF}]"
_SIGN = b"NCCL"


class FastLane:
    """Stages the calls of one log, and the messages of the hosts."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, plain: Plain, file_id: int, hosts: frozenset[str]
    ) -> None:
        self._con = con
        self._plain = plain
        self._file_id = file_id
        self._patterns = _patterns(hosts)
        self._own = local()
        settings = con.execute("SELECT current_setting('threads'), current_database()").fetchone()
        assert settings is not None  # no table is read
        self._n_threads = min(int(settings[0]), _MAX_THREADS)
        self._database = str(settings[1])

    def rest(self) -> Iterator[list[Line]]:
        """Lines that are left for the slow lane, in order, by slice; once it ends all is staged."""
        with ThreadPoolExecutor(self._n_threads) as pool:
            parts = _parts(self._plain)
            ahead: deque[Future[list[Line]]] = deque()
            for part in islice(parts, 2 * self._n_threads):
                ahead.append(pool.submit(self._stage, *part))
            while ahead:
                lines = ahead.popleft().result()
                for part in islice(parts, 1):
                    ahead.append(pool.submit(self._stage, *part))
                yield lines

    def _stage(self, start: int, end: int) -> list[Line]:
        data = self._plain.read(start, end)
        if _SIGN not in data:
            return []
        whole = max(data.rfind(_LINE_FEED), data.rfind(_RETURN)) + 1
        lines = self._staged(start, data[:whole].replace(_RETURN, _LINE_FEED))
        rest = [Line(at, data[at - start : at - start + length]) for at, length in lines]
        if data[whole:]:
            rest.append(Line(start + whole, data[whole:], is_ended=False))
        return rest

    def _staged(self, start: int, data: bytes) -> list[tuple[int, int]]:
        con = self._connection()
        text = data.decode("ascii", "replace") if data.isascii() else _one_byte_each(data)
        values = {**self._patterns, "most": _MAX_MESSAGE_BYTES, "start": start, "text": text}
        con.execute(statement("lines", "nccl_log"), values)
        con.execute(statement("calls", "nccl_log"), {"file_id": self._file_id})
        values = {"file_id": self._file_id, "place": _PLACE}
        con.execute(statement("said", "nccl_log"), values)
        return con.execute(statement("rest", "nccl_log"), {"interest": _INTEREST}).fetchall()

    def _connection(self) -> duckdb.DuckDBPyConnection:
        """One of the thread's own: temporary tables are of a connection."""
        if not hasattr(self._own, "con"):
            self._own.con = self._con.cursor()
            self._own.con.execute(f'USE "{self._database}"')  # a cursor begins in the first one
        con: duckdb.DuckDBPyConnection = self._own.con
        return con


def _patterns(hosts: frozenset[str]) -> dict[str, str]:
    """Regular expressions of the lanes; of hosts that are not known a part may be cut."""
    known = "|".join(re.escape(host) for host in sorted(hosts)) or _NOTHING
    header = rf"{_BEFORE}(?:{known}){_PROCESS}"
    return {
        "call": _WHOLE,
        "headed": rf"{header}(?:NCCL INFO |{_WARNING}){_PLAIN}",
        "unclear": _UNCLEAR,
        "message": rf"{header}(?:NCCL INFO (?:{_MESSAGE})|{_WARNING}.*)",
        "slow": _SLOW,
    }


def _parts(plain: Plain) -> Iterator[tuple[int, int]]:
    """Slices of the log that end where a line does, or where the log does."""
    start = 0
    while plain.reaches(start + 1):
        end = start + SLICE_BYTES
        if plain.reaches(end):
            head = plain.read(end, end + MAX_LINE_BYTES)
            found = _LINE_END.search(head)
            end += found.end() if found else len(head)
        end = min(end, plain.size) if not plain.reaches(end) else end
        yield start, end
        start = end


def _one_byte_each(data: bytes) -> str:
    """Text of as many characters as there are bytes: what is no ASCII is in no whole line."""
    return data.translate(_ASCII).decode("ascii")


_ASCII = bytes(range(128)) + b"\x7f" * 128
