"""Kineto traces (torch.profiler JSON) to the tables of files and of events, and the ledger."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from tracekit.errors import TraceFormatError
from tracekit.readers.accounts import Account, Accountant, note
from tracekit.readers.cutting import Cutter
from tracekit.readers.file_names import facts_of_name
from tracekit.readers.lanes import Lanes
from tracekit.readers.layout import End, Start, find_start
from tracekit.readers.metadata import base_ns, metadata, rank_of
from tracekit.readers.plain import Plain, opened
from tracekit.readers.ranks import Claim, owners
from tracekit.readers.statements import statement

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all, as they are on disk, over all files of the run."""

_CHUNK_BYTES = 300_000_000
"""Read before its events go to their tables: about a million of them, 200 MB as they are staged."""

_BATCH = 10
"""Slices read at a time, about a chunk: the fewer, the longer threads wait for the last of them."""

_MAX_READERS = 6
"""Slices open at a time: each takes a thread, and 32 MB of DuckDB's memory for its buffer."""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace to read, and what the user or its folder says of it before it is opened.

    `shown` is the path relative to what was ingested: table `file` and messages have it.
    `rank` and `dp` are None where the trace or its name has to tell.
    """

    path: Path
    shown: str
    file_id: int
    rank: int | None = None
    dp: int | None = None


def read_traces(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[TraceFile],
    *,
    run: str,
    scratch: Path,
    progress: Progress | None = None,
    is_failed: bool = False,
) -> None:
    """Fill `file`, `ledger` and the host's tables for a run; TEMP tables for what is derived.

    These are `device_event` and `collective_arg`.
    `con` must have no open transaction: a slice that cannot be read one way is read another.
    Compressed files are inflated into the folder `scratch`, one at a time. Of a capture that
    `is_failed`, traces that cannot be read are put into the ledger as a whole.

    Raises:
        TraceFormatError: a file is no trace, or its compressed data is corrupt.
        RunError: a file among several tells no rank, or two tell the same.
    """
    con.execute(statement("event"))
    con.execute(statement("chunk"))
    meter = _Meter(files, progress)
    reading = _read_if_whole if is_failed else _read
    read = [one for file in files if (one := reading(con, run, file, scratch, meter))]
    for one, owner in zip(read, owners([one.claim() for one in read]), strict=True):
        accountant = Accountant(con, run, one.file.file_id)
        accountant.publish(one.account, owner, one.file.shown, one.bytes, one.metadata)
    con.execute(statement("doubtful"), {"run": run})


@dataclass(frozen=True, slots=True)
class _Read:
    """A file whose events are in the tables."""

    file: TraceFile
    bytes: int
    metadata: dict[str, Any]
    account: Account

    def claim(self) -> Claim:
        return Claim(
            shown=self.file.shown,
            given=self.file.rank,
            own=rank_of(self.metadata),
            name=facts_of_name(self.file.path.name),
            dp=self.file.dp,
            has_work=self.account.kept > 0,
        )


class _Meter:
    """Progress over all files."""

    def __init__(self, files: Sequence[TraceFile], progress: Progress | None) -> None:
        self._progress = progress
        self._total = sum(file.path.stat().st_size for file in files)
        self._done = 0

    def show(self, plain: Plain, offset: int) -> None:
        """Events up to `offset` of the current file are loaded."""
        if self._progress:
            self._progress(min(self._done + plain.on_disk(offset), self._total), self._total)

    def close(self, size: int) -> None:
        """The current file, of `size` bytes on disk, is done."""
        self._done += size
        if self._progress:
            self._progress(self._done, self._total)


def _read(
    con: duckdb.DuckDBPyConnection, run: str, file: TraceFile, scratch: Path, meter: _Meter
) -> _Read:
    accountant = Accountant(con, run, file.file_id)
    size = file.path.stat().st_size  # now: nobody needs the name once the file is open
    with opened(file.path, file.shown, scratch) as plain:
        start = find_start(plain)
        early_base = _base(plain, metadata(start.members or b"", b"")[0])
        is_frontend = facts_of_name(file.path.name).is_frontend
        lanes = Lanes(con, plain, file.file_id, base_ns=early_base, is_frontend=is_frontend)
        end = _load(lanes, accountant, plain, start, _n_slices(con), meter)
        members, is_whole = metadata(start.members or b"", end.members)
        base = _base(plain, members)
        account = accountant.settle(base, late_base_ns=base - early_base)
        _refuse_other_json(plain, start, account)
        for reason, example in _doubts(plain, lanes, end, is_whole):
            accountant.doubt(reason, example)
    meter.close(size)
    return _Read(file, size, members, account)


def _read_if_whole(
    con: duckdb.DuckDBPyConnection, run: str, file: TraceFile, scratch: Path, meter: _Meter
) -> _Read | None:
    try:
        return _read(con, run, file, scratch, meter)
    except TraceFormatError as error:
        Accountant(con, run, file.file_id).forget()
        size = file.path.stat().st_size
        con.execute(
            "INSERT INTO file (run, file_id, path, kind, dp, bytes) VALUES (?, ?, ?, ?, 0, ?)",
            [run, file.file_id, file.shown, "other", size],
        )
        note(con, run, file.file_id, "trace of a failed capture that cannot be read", [str(error)])
        return None


def _load(
    lanes: Lanes, accountant: Accountant, plain: Plain, start: Start, n_slices: int, meter: _Meter
) -> End:
    cutter = Cutter(plain, start.offset, is_object=start.members is not None, n_parts=n_slices)
    slices = iter(cutter)
    chunk_start = start.offset
    while batch := list(islice(slices, n_slices)):
        lanes.load(batch)
        meter.show(plain, batch[-1].end)
        if batch[-1].end - chunk_start > _CHUNK_BYTES:
            accountant.sort_out()
            chunk_start = batch[-1].end
    accountant.sort_out()
    return cutter.end


def _n_slices(con: duckdb.DuckDBPyConnection) -> int:
    (threads,) = con.execute("SELECT current_setting('threads')").fetchone() or (1,)
    return _BATCH if int(threads) <= _MAX_READERS else _MAX_READERS


def _base(plain: Plain, members: dict[str, Any]) -> int:
    try:
        return base_ns(members) or 0
    except ValueError as error:
        raise TraceFormatError(f"{plain.shown}: {error}; collect the trace again") from error


def _refuse_other_json(plain: Plain, start: Start, account: Account) -> None:
    if account.events and account.unreadable == account.events:
        raise TraceFormatError(
            f"{plain.shown}: byte {start.offset}: none of {account.events} elements is a trace "
            "event; give the file that torch.profiler wrote"
        )


def _doubts(plain: Plain, lanes: Lanes, end: End, is_whole: bool) -> Iterator[tuple[str, str]]:
    if plain.is_cut_off:
        yield "compressed data cut off", f"byte {plain.size} is the last"
    elif not end.is_closed:
        yield "events cut off", f"the file ends at byte {plain.size}, before its array does"
    if end.is_closed and not is_whole:
        yield "metadata not JSON", "of it, only the clock's base and the rank are used"
    if lanes.repaired.count:
        yield "repaired text", str(lanes.repaired)
