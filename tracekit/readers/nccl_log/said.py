"""Messages that need no other line: each text is parsed once, at the end of a file.

They come many times in these logs: by each rank, each channel, each call. One whose line may be
cut or joined stands where others say the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import duckdb

from tracekit.readers.nccl_log.facts import Row
from tracekit.readers.nccl_log.notes import MAX_CHARACTERS
from tracekit.readers.nccl_log.told import told
from tracekit.readers.nccl_log.torn import WINDOW_BYTES
from tracekit.readers.nccl_log.trust import Process
from tracekit.readers.rows import Value, insert
from tracekit.readers.statements import statement
from tracekit.script import run_script

_BATCH = 20_000
_CUT = ("kind", "of_host", "of_pid", "topic", "word")


def stage(con: duckdb.DuckDBPyConnection, table: str, file_id: int, rows: Sequence[Row]) -> None:
    """Put what the slow lane found beside what the fast one did."""
    insert(con, table, [{"file_id": file_id, **row} for row in rows])


def lines_of(con: duckdb.DuckDBPyConnection, file_id: int) -> Counter[Process]:
    """Messages of the fast lane by process."""
    found = con.execute(statement("said_lines", "nccl_log"), {"file_id": file_id}).fetchall()
    return Counter({(host, pid): n for host, pid, n in found})


def unmend(con: duckdb.DuckDBPyConnection, file_id: int) -> None:
    """Take back messages put together from pieces that do not belong together."""
    run_script(con, statement("unmend", "nccl_log"), {"file_id": file_id})


def publish(
    con: duckdb.DuckDBPyConnection,
    run: str,
    file_id: int,
    *,
    is_torn: bool,
    least: int,
) -> None:
    """Messages of a file that stand to their tables; of those in doubt `least` say the same."""
    values = {"run": run, "file_id": file_id, "least": least, "most": MAX_CHARACTERS}
    if is_torn:
        doubt = {"file_id": file_id, "window": WINDOW_BYTES}
        con.execute(statement("said_doubt", "nccl_log"), doubt)
    _parse(con, file_id)
    con.execute(statement("said_group", "nccl_log"), values)
    con.execute(statement("said_cut", "nccl_log"), _cut_columns(con))
    run_script(con, statement("said_publish", "nccl_log"), values)


def _parse(con: duckdb.DuckDBPyConnection, file_id: int) -> None:
    run_script(con, statement("said_texts", "nccl_log"), {"file_id": file_id})
    columns = [name for name, *_ in con.execute("DESCRIBE nccl_form").fetchall()]
    nothing: Row = dict.fromkeys(columns)
    (n,) = con.execute("SELECT count(*) FROM nccl_text").fetchone() or (0,)
    for start in range(0, n, _BATCH):
        page = "SELECT form, text FROM nccl_text WHERE rowid >= ? AND rowid < ?"
        texts = con.execute(page, [start, start + _BATCH]).fetchall()
        insert(con, "nccl_form", [nothing | row for one in texts for row in told(*one)])


def _cut_columns(con: duckdb.DuckDBPyConnection) -> dict[str, list[Value]]:
    rows = list(_cut(_rows(con.execute(statement("said_words", "nccl_log")))))
    return {name: [row[i] for row in rows] for i, name in enumerate(_CUT)}


def _rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Value, ...]]:
    while rows := cursor.fetchmany(_BATCH):
        yield from rows


def _cut(rows: Iterable[tuple[Value, ...]]) -> Iterator[tuple[Value, ...]]:
    """Words, each behind its topic, that are the beginning of a longer one, said as often."""
    for topic, words in groupby(rows, key=lambda row: row[:-2]):
        for word in cut_words((str(word), int(str(n))) for *_, word, n in words):
            yield (*topic, word)


def cut_words(words: Iterable[tuple[str, int]]) -> set[str]:
    """Words, given in order, that a longer one begins with that was said as often."""
    cut: set[str] = set()
    heads: list[tuple[str, int]] = []
    for word, n in words:
        while heads and not word.startswith(heads[-1][0]):
            heads.pop()
        cut.update(head for head, n_head in heads if n_head <= n)
        heads.append((word, n))
    return cut
