"""Lines of a log as NCCL's messages, rid of what launchers and collectors put in front of them.

Source: NCCL 2.18 to 2.32, src/debug.cc; `[dev]` is the calling thread's device, not the rank.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

PREFIXES = (
    r"(?:\[\d+(?:,\d+)?\](?:<std(?:out|err)>)?(?:: |:| )"  # mpirun
    r"|\[[A-Za-z_]\w*\d\]: ?"  # torchrun, torch
    r"|\d{1,6}: "  # srun -l
    r"|\([A-Za-z_][\w.]*(?: [a-z]+=[^()\s,]+,?)*\) "  # vLLM, Ray
    r"|[\w.\-]+ +\| "  # docker compose
    r"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+\-]\d\d:\d\d) std(?:out|err) [FP] )*"  # Kubernetes
)
"""What may stand before a line, for RE2 and Python alike; it ends in a blank or a colon."""

ANSI = r"\x1b\[[0-9;?]*[ -/]*[@-~]"
STAMP = r"\[[^\]\n]{6,60}\] "
HOST = r"[A-Za-z0-9_][\w.\-]*"

_ANSI = re.compile(ANSI)
_PREFIX = re.compile(PREFIXES)
_REPEATED = re.compile(r" ?\[repeated (\d{1,9})x across cluster\].*$")
_REPEATED_SIGN = "[repeated "
_HEADER = re.compile(
    rf"(?P<stamp>{STAMP})?(?P<host>{HOST}):(?P<pid>\d{{1,18}}):(?P<tid>\d{{1,18}}) "
    r"(?:\[\d{1,9}\] )?(?:\d+\.\d+ )?"
    r"(?:(?P<place>[^\s:]+:\d+)(?: \([^)]*\))? )?NCCL (?P<level>INFO|WARN|TRACE|CALL) ?"
)
_HEADER_END = re.compile(r"NCCL (?:INFO|WARN|TRACE|CALL) ?")
_HEADER_CHARACTERS = 1024
"""No header is longer: a search of all that stands before its end takes the square of that."""

_STAMP_FORM = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?: ?([+\-])(\d\d):?(\d\d))?"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A physical line: the byte at which it begins, and whether a line feed ends it."""

    at_byte: int
    raw: bytes
    is_ended: bool = True


@dataclass(frozen=True, slots=True)
class Header:
    """Who says it: `stamp` is the text of the time, None without one; `place` that of a WARN."""

    at_byte: int
    stamp: str | None
    host: str
    pid: int
    tid: int
    level: str
    place: str | None

    @property
    def process(self) -> tuple[str, int]:
        """Key of the process within its file."""
        return self.host, self.pid

    @property
    def logged_ns(self) -> int | None:
        """Time of the line, as `nanoseconds`."""
        return nanoseconds(self.stamp) if self.stamp else None

    @property
    def columns(self) -> dict[str, str | int | None]:
        """Columns that the stages of calls and of messages have in common."""
        return {
            "at_byte": self.at_byte,
            "tail_at_byte": None,
            "stamp": self.stamp,
            "host": self.host,
            "pid": self.pid,
            "tid": self.tid,
        }


@dataclass(frozen=True, slots=True)
class Piece:
    """What lies between two headers of a line, or before the first one (`header` is None).

    `is_ended` is true where the line's end follows; `length` counts the header's bytes too.
    """

    header: Header | None
    text: str
    is_ended: bool
    length: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """Pieces of one physical line, and how many like it Ray says it has left out."""

    pieces: tuple[Piece, ...]
    n_left_out: int


def parsed(line: Line, hosts: frozenset[str]) -> Parsed:
    """The line in pieces; `hosts` that are known end what a cut line has left before a header."""
    text = _bare(line.raw.decode("utf-8", "replace"))
    left_out = _REPEATED.search(text) if _REPEATED_SIGN in text else None
    text = text[: left_out.start()] if left_out else text
    pieces = tuple(_pieces(line, text, hosts))
    return Parsed(pieces, int(left_out[1]) if left_out else 0)


def hosts_of(head: bytes) -> frozenset[str]:
    """Hosts that begin more than one line of the start of a log."""
    texts = map(_bare, head.decode("utf-8", "replace").splitlines())
    found = Counter(match["host"] for text in texts if (match := _HEADER.match(text)))
    return frozenset(host for host, n in found.items() if n > 1)


def nanoseconds(stamp: str) -> int | None:
    """Nanoseconds since the epoch of `2026-01-02 03:04:05.123456 +0100`; no zone is read as UTC.

    None for a time that has no date, or is none.
    """
    found = _STAMP_FORM.fullmatch(stamp)
    if found is None:
        return None
    date, clock, fraction, sign, hours, minutes = found.groups()
    try:
        moment = datetime.strptime(f"{date} {clock}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        shift = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        seconds = round((moment - shift if sign == "+" else moment + shift).timestamp())
    except (ValueError, OverflowError):
        return None
    return seconds * 1_000_000_000 + int((fraction or "0").ljust(9, "0"))


def _bare(text: str) -> str:
    text = _ANSI.sub("", text) if "\x1b" in text else text
    prefix = _PREFIX.match(text)
    return text[prefix.end() :] if prefix else text


def _pieces(line: Line, text: str, hosts: frozenset[str]) -> Iterator[Piece]:
    found = list(_headers(text))
    starts = [_start(match, hosts) for match in found]
    first = starts[0] if found else len(text)
    if text[:first].strip():
        yield Piece(None, text[:first], not found and line.is_ended, first)
    ends = [*starts[1:], len(text)][: len(starts)]
    for match, start, end in zip(found, starts, ends, strict=True):
        is_last = end == len(text)
        body = text[match.end() : end]
        yield Piece(
            _header(match, start, line.at_byte), body, is_last and line.is_ended, end - start
        )


def _headers(text: str) -> Iterator[re.Match[str]]:
    at = 0
    for end in _HEADER_END.finditer(text):
        start = max(at, end.start() - _HEADER_CHARACTERS)
        if (match := _HEADER.search(text, start, end.end())) and match.end() == end.end():
            yield match
        at = end.end()


def _start(match: re.Match[str], hosts: frozenset[str]) -> int:
    """Where the header begins: a cut number or word before it looks like part of its host."""
    host = match["host"]
    if match["stamp"] or host in hosts:
        return match.start()
    known = max((one for one in hosts if host.endswith(one)), key=len, default=host)
    return match.start("pid") - 1 - len(known)


def _header(match: re.Match[str], start: int, at_byte: int) -> Header:
    stamp = match["stamp"]
    return Header(
        at_byte=at_byte,
        stamp=stamp[1:-2] if stamp else None,
        host=match["host"] if stamp else match.string[start : match.start("pid") - 1],
        pid=int(match["pid"]),
        tid=int(match["tid"]),
        level=match["level"],
        place=match["place"],
    )
