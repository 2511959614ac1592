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
from tracekit.readers.nccl_log import calls
from tracekit.readers.nccl_log.facts import Fact, Row, standing
from tracekit.readers.nccl_log.fast import FastLane
from tracekit.readers.nccl_log.links import own, with_comms
from tracekit.readers.nccl_log.slow import SlowLane
from tracekit.readers.nccl_log.text import hosts_of
from tracekit.readers.nccl_log.trust import Process, strangers
from tracekit.readers.plain import Plain, opened
from tracekit.readers.rows import insert
from tracekit.readers.statements import statement

_BATCH = 20_000
_HEAD_BYTES = 64 << 10
"""Of a log, looked at for the hosts that write it."""


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
    con.execute(statement("stage", "nccl_log"))
    for file_id, file in files:
        try:
            with opened(file.path, file.shown, scratch) as plain:
                _File(con, run, file_id, plain).read()
        except TraceFormatError as error:
            note(con, run, file_id, "NCCL log that cannot be read to its end", [str(error)])
    con.execute("DROP TABLE nccl_stage")


class _File:
    """One log on its way into the tables."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, run: str, file_id: int, plain: Plain
    ) -> None:
        self._con = con
        self._run = run
        self._file_id = file_id
        self._slow = SlowLane(hosts_of(plain.read(0, _HEAD_BYTES)))
        self._fast = FastLane(con, plain, file_id)

    def read(self) -> None:
        for line in self._fast.rest():
            self._slow.take(line)
            self._flush(_BATCH)
        self._flush(1)
        self._publish()

    def _flush(self, least: int) -> None:
        slow = self._slow
        if len(slow.calls) >= least:
            calls.stage(self._con, self._file_id, slow.calls)
            slow.calls = []
        if len(slow.choices.rows) >= least:
            self._insert("nccl_tuning", slow.choices.rows)
            slow.choices.rows = []

    def _publish(self) -> None:
        slow, tears = self._slow, self._slow.mender.tears
        seen = calls.seen_of(self._con, self._file_id, tears)
        lines = slow.lines + calls.lines_of(seen)
        strange = strangers(lines, is_torn=tears.first_at is not None)
        self._insert_facts(strange)
        owners = slow.comms.owners()
        refused = calls.publish(self._con, self._run, self._file_id, tears, seen, strange, owners)
        for reason, n, example in refused:
            self._tell(reason, n, example)
        self._tell("torn NCCL line", tears.n, tears.example)
        self._tell("NCCL line left out by Ray", slow.n_left_out, slow.left_out)
        self._tell("NCCL line longer than NCCL's are", slow.n_too_long, slow.too_long)
        self._tell("NCCL note beyond those kept", slow.n_too_many, "")
        self._tell("row of NCCL's model without its head", slow.tables.n_refused, "")
        self._tell("communicator whose lines contradict", slow.comms.n_refused, "")

    def _insert_facts(self, strange: set[Process]) -> None:
        slow, least = self._slow, self._slow.least

        def of_others(facts: Sequence[Fact], of: Sequence[str], word: str) -> list[Row]:
            return _of_others(standing(facts, of, word, least=least), strange)

        comms = _of_others(slow.comms.rows(least), strange)
        self._insert("nccl_comm", comms)
        self._insert("nccl_tuning", slow.choices.confirmed(least))
        self._delete_cut_choices()
        self._delete_choices_of(strange)
        self._insert("nccl_model", of_others(slow.tables.facts, ("category",), "algorithm"))
        links = of_others(
            own(slow.links, comms), ("host", "pid", "transport", "direction"), "detail"
        )
        self._insert("nccl_link", with_comms(links, comms))
        self._insert("nccl_note", of_others(slow.notes, ("kind", "name"), "value"))

    def _insert(self, table: str, rows: Sequence[Row]) -> None:
        insert(self._con, table, [{"run": self._run, "file_id": self._file_id, **r} for r in rows])

    def _delete_cut_choices(self) -> None:
        for said in self._slow.choices.cut():
            values = {"run": self._run, "file_id": self._file_id, **said}
            self._con.execute(statement("cut_choice", "nccl_log"), values)

    def _delete_choices_of(self, strange: set[Process]) -> None:
        for host, pid in strange:
            self._con.execute(
                "DELETE FROM nccl_tuning WHERE run = ? AND file_id = ? AND host = ? AND pid = ?",
                [self._run, self._file_id, host, pid],
            )

    def _tell(self, reason: str, n: int, example: str) -> None:
        tell(self._con, self._run, self._file_id, reason, n, example)


def _of_others(rows: Sequence[Row], strange: set[Process]) -> list[Row]:
    """Rows that are of none of the processes."""
    return [row for row in rows if (row["host"], row["pid"]) not in strange]
