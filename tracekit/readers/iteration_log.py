"""vLLM's iteration log (`--enable-logging-iteration-details`, 0.14 on) to table `iteration`.

    (EngineCore_DP1 pid=9) INFO 07-09 03:15:05 [core.py:359] Iteration(15): 2 context requests,
        7986 context tokens, 14 generation requests, 14 generation tokens, iteration elapsed time:
        11.64 ms
    (APIServer pid=7) INFO 11-29 12:03:32 [loggers.py:199] Engine 001: Iteration(15): 0 context ...
        iteration elapsed time: 9.31 ms (dummy), GPU KV cache usage: 0.2%

each on one line. Source: vLLM 0.14 to 0.31 log it in the engine's process, 0.32 and 0.33 in the
API server's, where `Engine N:` names the data-parallel engine.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from tracekit.readers.accounts import tell
from tracekit.readers.folder import InputFile
from tracekit.readers.rows import insert
from tracekit.readers.windows import Windows

MAX_LINE_BYTES = 64 * 1024
"""A longer line is read in parts of this size; these lines have some 250 bytes."""

_BATCH = 20_000
_SIGN = b"Iteration("
_CUT_SIGN = b" context requests"
_LINE = re.compile(
    rb"(?:Engine (?P<engine>\d{1,5}): )?Iteration\((?P<iteration>\d{1,18})\): "
    rb"(?P<c>\d{1,9}) context requests, (?P<ct>\d{1,9}) context tokens, "
    rb"(?P<g>\d{1,9}) generation requests, (?P<gt>\d{1,9}) generation tokens, "
    rb"iteration elapsed time: (?P<ms>\d{1,8})(?:\.(?P<fraction>\d{1,6}))? ms"
    rb"(?P<dummy> \(dummy\))?"
)
_PROCESS = re.compile(rb"\(EngineCore_DP(\d{1,5})\b")


@dataclass(frozen=True, slots=True)
class Iteration:
    """One line: a step as the engine timed it, and the byte at which its line begins."""

    dp: int
    iteration: int
    n_prefill_reqs: int
    n_prefill_tokens: int
    n_decode_reqs: int
    n_decode_tokens: int
    dur_ns: int
    is_dummy: bool
    at_byte: int


def read_iterations(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[tuple[int, InputFile]],
    windows: Windows,
    *,
    run: str,
) -> None:
    """Fill `iteration` from logs; lines that are cut or garbled go to `ledger`."""
    for file_id, file in files:
        found: list[dict[str, str | int | None]] = []
        bad = _Bad()
        for line_at, line in _lines_with_sign(file.path):
            matches = list(_LINE.finditer(line))
            if len(matches) < line.count(_CUT_SIGN):
                bad.add(line_at, line)
            found += (
                _row(run, file_id, windows, _iteration(match, line, line_at)) for match in matches
            )
            if len(found) >= _BATCH:
                insert(con, "iteration", found)
                found = []
        insert(con, "iteration", found)
        tell(con, run, file_id, "iteration log line not understood", bad.count, bad.example)


@dataclass(slots=True)
class _Bad:
    count: int = 0
    example: str = ""

    def add(self, line_at: int, line: bytes) -> None:
        self.count += 1
        self.example = self.example or f"byte {line_at}: {line.decode(errors='replace').strip()}"


def _lines_with_sign(path: Path) -> Iterator[tuple[int, bytes]]:
    line_at = 0
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES):
            if _SIGN in line and _CUT_SIGN in line:
                yield line_at, line
            line_at += len(line)


def _iteration(match: re.Match[bytes], line: bytes, line_at: int) -> Iteration:
    return Iteration(
        dp=_engine(match, line),
        iteration=int(match["iteration"]),
        n_prefill_reqs=int(match["c"]),
        n_prefill_tokens=int(match["ct"]),
        n_decode_reqs=int(match["g"]),
        n_decode_tokens=int(match["gt"]),
        dur_ns=int(match["ms"]) * 1_000_000 + int((match["fraction"] or b"0").ljust(6, b"0")),
        is_dummy=match["dummy"] is not None,
        at_byte=line_at,
    )


def _engine(match: re.Match[bytes], line: bytes) -> int:
    """Data-parallel engine: named by the line itself, else by the nearest process before it."""
    if match["engine"] is not None:
        return int(match["engine"])
    processes = _PROCESS.findall(line, 0, match.start())
    return int(processes[-1]) if processes else 0


def _row(
    run: str, file_id: int, windows: Windows, iteration: Iteration
) -> dict[str, str | int | None]:
    window = windows.of_line(file_id, iteration.at_byte)
    return {"run": run, "file_id": file_id, "window_name": window, **asdict(iteration)}
