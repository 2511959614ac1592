"""Rows of `file` and `ledger`: what a trace holds, and what became of each of its events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from tracekit.readers.metadata import base_ns, host_name
from tracekit.readers.ranks import Owner
from tracekit.readers.statements import statement
from tracekit.script import run_script

_EXAMPLE_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Account:
    """A file whose events are counted: `kept` of `events` are in the tables.

    `unreadable` are no JSON, or JSON but no event. Times are None without events.
    """

    events: int
    kept: int
    unreadable: int
    window_start_ns: int | None
    window_end_ns: int | None
    grain_ns: int | None


class Accountant:
    """Keeps the accounts of one file of one run."""

    def __init__(self, con: duckdb.DuckDBPyConnection, run: str, file_id: int) -> None:
        self._con = con
        self._run = run
        self._file_id = file_id

    def sort_out(self) -> None:
        """Take a chunk of staged events to the tables they belong to, and begin another."""
        self._run_script("sort")
        self._run_script("chunk")

    def settle(self, base_ns: int, *, late_base_ns: int) -> Account:
        """Count all events and put those skipped into the ledger.

        `late_base_ns` is the part of `base_ns` that is not in the events' times yet.
        """
        if late_base_ns:
            self._run_script("shift", base_ns=late_base_ns)
        self._run_script("zero_start", base_ns=base_ns)
        self._run_script("absurd_args")
        row = self._execute("span", base_ns=base_ns).fetchone()
        assert row is not None  # an aggregate without groups
        self._execute("skipped", run=self._run)
        self._execute("untyped", run=self._run)
        return Account(*row)

    def doubt(self, reason: str, example: str) -> None:
        """Put a warning into the ledger: something is wrong, but no event is skipped for it."""
        self._execute("doubt", run=self._run, reason=reason, example=example)

    def publish(
        self, account: Account, owner: Owner, path: str, size: int, metadata: dict[str, Any]
    ) -> None:
        """Insert the row of `file`; `size` is in bytes on disk."""
        self._execute(
            "file",
            run=self._run,
            path=path,
            kind="frontend" if owner.is_frontend else "trace",
            dp=owner.dp,
            rank=owner.rank,
            stage=owner.stage,
            host_name=host_name(metadata),
            base_ns=base_ns(metadata),
            grain_ns=account.grain_ns,
            bytes=size,
            events=account.events,
            window_start_ns=account.window_start_ns,
            window_end_ns=account.window_end_ns,
            metadata=json.dumps(metadata),
        )

    def forget(self) -> None:
        """Take back all that came of a file that turned out to be no trace."""
        self._run_script("forget")

    def _run_script(self, name: str, **values: Any) -> None:
        given = {"run": self._run, "file_id": self._file_id, **values}
        run_script(self._con, statement(name), given)

    def _execute(self, name: str, **values: Any) -> duckdb.DuckDBPyConnection:
        return self._con.execute(statement(name), {"file_id": self._file_id, **values})


def note(
    con: duckdb.DuckDBPyConnection, run: str, file_id: int, reason: str, lost: Sequence[str]
) -> None:
    """Put what was skipped of a file that is no trace into the ledger, where anything was."""
    tell(con, run, file_id, reason, len(lost), lost[0] if lost else "")


def tell(
    con: duckdb.DuckDBPyConnection, run: str, file_id: int, reason: str, skipped: int, example: str
) -> None:
    """As `note`, of so much that only one example is kept."""
    if skipped:
        con.execute(
            "INSERT INTO ledger (run, file_id, reason, skipped, example, is_loss) "
            "VALUES (?, ?, ?, ?, ?, true)",
            [run, file_id, reason, skipped, example[:_EXAMPLE_CHARACTERS]],
        )
