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
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import duckdb

from tracekit.readers.accounts import tell
from tracekit.readers.folder import InputFile
from tracekit.readers.log_lines import Bad, engine_before, lines_of
from tracekit.readers.rows import insert
from tracekit.readers.windows import Windows

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
        bad = Bad()
        for line_at, line in lines_of(file.path):
            if _SIGN not in line or _CUT_SIGN not in line:
                continue
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
    named = match["engine"]
    return engine_before(line, match.start()) if named is None else int(named)


def _row(
    run: str, file_id: int, windows: Windows, iteration: Iteration
) -> dict[str, str | int | None]:
    window = windows.of_line(file_id, iteration.at_byte)
    return {"run": run, "file_id": file_id, "window_name": window, **asdict(iteration)}
