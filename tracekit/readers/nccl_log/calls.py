"""Calls of the slow lane into the stage; at the end of a file those to be believed out of it."""

import re
from collections import Counter
from collections.abc import Sequence

import duckdb

from tracekit.readers.nccl_log.facts import Row
from tracekit.readers.nccl_log.formats import CATEGORIES
from tracekit.readers.nccl_log.text import Header
from tracekit.readers.nccl_log.torn import Tears
from tracekit.readers.nccl_log.trust import Comm, Process, Seen, cut, joined
from tracekit.readers.rows import Value
from tracekit.readers.statements import statement
from tracekit.script import run_script

_REASONS = {
    False: "NCCL call whose line may be cut",
    True: "NCCL call whose line may be two joined",
}
_NO_BYTE = 2**63 - 1
"""Where a file has no torn line."""

_MAX_SEEN = 20_000
"""Communicators and streams of a file; hundreds are many."""

_WORDS = re.compile(
    r"(?P<coll>\w+): opCount (?P<count>\w+) sendbuff (?P<send>\S+) recvbuff (?P<recv>\S+) "
    r"count (?P<n>\d+) datatype (?P<dtype>\d+) op (?P<op>\d+) root (?P<root>-?\d+) "
    r"comm (?P<comm>\S+) \[nranks=(?P<n_ranks>\d+)\] stream (?P<stream>\S+)"
    r"(?: task \d+ globalrank (?P<rank>\d+))?"
)


def call_row(header: Header, text: str) -> Row:
    """Row of the stage for a whole COLL line."""
    found = _WORDS.fullmatch(text)
    assert found is not None  # the caller has matched the stricter form
    return _row(header, found) | {
        "source": "coll",
        "op_count": int(found["count"], 16),
        "n_ranks": int(found["n_ranks"]),
        "global_rank": int(found["rank"]) if found["rank"] else None,
    }


def api_call_row(header: Header, found: re.Match[str]) -> Row:
    """Row of the stage for a whole CALL line."""
    return _row(header, found) | {
        "source": "call",
        "op_count": None,
        "n_ranks": None,
        "global_rank": None,
    }


def _row(header: Header, found: re.Match[str]) -> Row:
    return {
        **header.columns,
        "comm": found["comm"],
        "collective": found["coll"],
        "n_elements": int(found["n"]),
        "dtype_code": int(found["dtype"]),
        "reduction_code": int(found["op"]),
        "root": int(found["root"]),
        "is_in_place": found["send"] == found["recv"],
        "stream": found["stream"],
    }


def seen_of(con: duckdb.DuckDBPyConnection, file_id: int, tears: Tears) -> list[Seen]:
    """Staged calls of a file, by who made them on what."""
    at = _NO_BYTE if tears.first_at is None else tears.first_at
    values = {"file_id": file_id, "torn_at": at, "most": _MAX_SEEN}
    return [Seen(*row) for row in con.execute(statement("seen", "nccl_log"), values).fetchall()]


def lines_of(seen: Sequence[Seen]) -> Counter[Process]:
    """Calls by process."""
    lines: Counter[Process] = Counter()
    for one in seen:
        lines[one.process] += one.n
    return lines


def publish(
    con: duckdb.DuckDBPyConnection,
    run: str,
    file_id: int,
    tears: Tears,
    seen: Sequence[Seen],
    strange: set[Process],
    owners: dict[Comm, int],
) -> list[tuple[str, int, str]]:
    """Calls of a file that are to be believed into `nccl_call`; of the others what the ledger says.

    None is of the processes `strange`; `owners` are ranks of communicators by whose they are.
    Gives (reason, how many, example).
    """
    doubtful = [(one, False) for one in seen if one.process in strange]
    known = [one for one in seen if one.process not in strange]
    doubtful += [(one, False) for one in cut(known)]
    if tears.first_at is not None and len({one.process for one in known}) > 1:
        suspects = joined(known, owners, n_torn=tears.n, n_torn_in_stream=tears.n_in_stream)
        doubtful += [(one, True) for one in suspects]
    con.execute(statement("doubt", "nccl_log"), _columns(doubtful))
    categories = {"names": list(CATEGORIES), "categories": list(CATEGORIES.values())}
    con.execute(statement("category", "nccl_log"), categories)
    values = {"run": run, "file_id": file_id, "torn_at": tears.first_at or 0}
    run_script(con, statement("publish", "nccl_log"), values)
    refused = con.execute(statement("refused", "nccl_log")).fetchall()
    return [(_REASONS[is_joined], n, f"byte {first}") for is_joined, n, first in refused]


def _columns(doubtful: Sequence[tuple[Seen, bool]]) -> dict[str, list[Value]]:
    names = ("host", "pid", "comm", "n_ranks", "stream", "global_rank")
    columns: dict[str, list[Value]] = {
        name: [getattr(one, name) for one, _ in doubtful] for name in names
    }
    columns["is_joined"] = [is_joined for _, is_joined in doubtful]
    return columns
