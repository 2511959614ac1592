"""Logs of NCCL and RCCL (`NCCL_DEBUG=INFO`) to the tables `nccl_*`.

Read are logs of one process, of several, and servers' logs that hold NCCL's lines among others.
What a torn line held is counted in the ledger, never guessed.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from tracekit.errors import TraceFormatError
from tracekit.readers.accounts import note, tell
from tracekit.readers.folder import InputFile
from tracekit.readers.nccl_log import calls, said
from tracekit.readers.nccl_log.fast import FastLane
from tracekit.readers.nccl_log.slow import SlowLane
from tracekit.readers.nccl_log.text import hosts_of
from tracekit.readers.nccl_log.trust import Process, strangers
from tracekit.readers.plain import Plain, opened
from tracekit.readers.statements import statement
from tracekit.script import run_script

_BATCH = 20_000
_SIGN = b"NCCL"
_HEAD_BYTES = 1 << 20
"""Of a log, from its first line of NCCL's on, looked at for the hosts that write it."""


def read_logs(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[tuple[int, InputFile]],
    *,
    run: str,
    scratch: Path,
) -> None:
    """Fill `nccl_comm`, `nccl_call`, `nccl_tuning`, `nccl_model`, `nccl_link` and `nccl_note`.

    Compressed logs are inflated into the folder `scratch`.
    """
    if not files:
        return
    run_script(con, statement("stage", "nccl_log"), {})
    for file_id, file in files:
        try:
            with opened(file.path, file.shown, scratch) as plain:
                _File(con, run, file_id, plain).read()
        except TraceFormatError as error:
            note(con, run, file_id, "NCCL log that cannot be read to its end", [str(error)])
    for table in ("nccl_stage", "nccl_said", "nccl_born", "nccl_head"):
        con.execute(f"DROP TABLE {table}")


class _File:
    """One log on its way into the tables."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, run: str, file_id: int, plain: Plain
    ) -> None:
        self._con = con
        self._run = run
        self._file_id = file_id
        hosts = hosts_of(_head(plain))
        self._slow = SlowLane(hosts)
        self._fast = FastLane(con, plain, file_id, hosts)

    def read(self) -> None:
        for lines in self._fast.rest():
            for line in lines:
                self._slow.take(line)
            self._flush(_BATCH)
        self._flush(1)
        self._publish()

    def _flush(self, least: int) -> None:
        slow = self._slow
        waiting = {
            "nccl_stage": slow.calls,
            "nccl_said": slow.said,
            "nccl_born": slow.comms.rows,
            "nccl_head": slow.mender.heads,
        }
        for table, rows in waiting.items():
            if len(rows) >= least:
                said.stage(self._con, table, self._file_id, rows)
                rows.clear()

    def _publish(self) -> None:
        slow, tears = self._slow, self._slow.mender.tears
        said.unmend(self._con, self._file_id)
        seen = calls.seen_of(self._con, self._file_id, tears)
        messages = slow.lines + said.lines_of(self._con, self._file_id)
        is_torn = tears.first_at is not None
        strange = strangers(messages + calls.lines_of(seen), is_torn=is_torn)
        least = slow.least(len(messages))
        slow.comms.end(least)
        self._flush(1)
        n_comms = self._publish_comms(strange)
        said.publish(self._con, self._run, self._file_id, is_torn=is_torn, least=least)
        owners = slow.comms.owners()
        refused = calls.publish(self._con, self._run, self._file_id, tears, seen, strange, owners)
        for reason, n, example in refused:
            self._tell(reason, n, example)
        self._tell("torn NCCL line", tears.n, tears.example)
        self._tell("NCCL line left out by Ray", slow.n_left_out, slow.left_out)
        self._tell("NCCL line longer than NCCL's are", slow.n_too_long, slow.too_long)
        self._tell("row of NCCL's model without its head", slow.tables.n_refused, "")
        self._tell("communicator whose lines contradict", slow.comms.n_lives - n_comms, "")

    def _publish_comms(self, strange: set[Process]) -> int:
        """How many communicators no two processes contradict each other on."""
        columns = {"host": [host for host, _ in strange], "pid": [pid for _, pid in strange]}
        self._con.execute(statement("stranger", "nccl_log"), columns)
        values = {"run": self._run, "file_id": self._file_id, **self._slow.comms.versions()}
        run_script(self._con, statement("comms", "nccl_log"), values)
        (n,) = self._con.execute("SELECT count(*) FROM nccl_born_once").fetchone() or (0,)
        return int(n)

    def _tell(self, reason: str, n: int, example: str) -> None:
        tell(self._con, self._run, self._file_id, reason, n, example)


def _head(plain: Plain) -> bytes:
    """Some of the log from the first line of NCCL's on."""
    start = 0
    while plain.reaches(start + 1):
        data = plain.read(start, start + _HEAD_BYTES)
        if (at := data.find(_SIGN)) >= 0:
            begin = start + max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at), 0)
            return plain.read(begin, begin + _HEAD_BYTES)
        start += _HEAD_BYTES
    return b""
