"""What nccl-tests printed (text) or wrote with -J (JSON), as measured points.

A row of text has times out of place and in place; the heading above says which columns there are:

    # nThread 1 nGpus 4 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 graph: 0
    #  Rank  0 Group  0 Pid   1001 on node-a device  0 [0000:41:00] NVIDIA Made-up
    #       size         count      type   redop    root     time   algbw   busbw #wrong    time ...
          14336          7168  bfloat16     sum      -1    31.20    0.46    0.80      0    30.75 ...

Source: nccl-tests 2.0 to 2.19, src/common.cu and src/util.cu. Columns redop and root came later,
`error` became `#wrong`, -T adds a time stamp and per-iteration timing four columns to each half.
NCCL's own lines can stand between rows and within them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tracekit.readers.sheet import MAX_BYTES, MAX_TIME_NS, Point, Sheet
from tracekit.readers.values import count, integer, text

CATEGORIES = {
    "all_reduce_perf": "all_reduce",
    "all_gather_perf": "all_gather",
    "reduce_scatter_perf": "reduce_scatter",
    "alltoall_perf": "all_to_all",
    "broadcast_perf": "broadcast",
    "reduce_perf": "reduce",
    "sendrecv_perf": "send_recv",
    "gather_perf": "gather",
    "scatter_perf": "scatter",
}
"""Programs and what they measure."""

_NCCL_LINE = re.compile(
    r"(?:^\[[^\]]{6,40}\] )?(?:^\w|(?<![A-Za-z_])[A-Za-z_])[\w.\-]{0,200}:\d{1,10}:\d{1,10} "
    r"(?:\[\d{1,4}\] )?(?:\S{1,200} ){0,4}NCCL (?:INFO|WARN|TRACE|CALL)"
)
"""Where a line of NCCL's begins, at the start of a line or behind the cell of a row."""

_LAUNCHER = re.compile(r"\[\d+(?:,\d+)?\](?:<std(?:out|err)>)?:? ?")
_PROGRAM = re.compile(rf"(?<!\w)({'|'.join(CATEGORIES)})(?!\w)")
_ITERATIONS = re.compile(r"(?<!warmup )(?<!agg )iters: (\d+)")
_AGGREGATED = re.compile(r"agg iters: (\d+)")
_GRAPH = re.compile(r"graph: (\d+)")
_WIDTH = re.compile(r"nThread (\d+) nGpus (\d+) ")
_RANK = re.compile(r"#?\s*Rank +(\d+)(?: Group +(\d+))? .*? device +\d+ \[[^\]]*\] +(.+)")
_TIMES = ("time", "cputime")
_STAMP = re.compile(r"(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)")
_SUMMARY = re.compile(r"# Out of bounds values : \S+ (OK|FAILED)")
_ROUNDING = 0.006
"""Bandwidths are printed with two decimals."""


@dataclass(slots=True)
class _Test:
    """What the lines so far say of the test whose rows follow."""

    category: str | None = None
    n: int | None = None
    mode: str = "eager"
    width: int = 1
    """Ranks of a process."""
    groups: set[str | None] = field(default_factory=set)
    gpus: dict[int, str] = field(default_factory=dict)
    heading: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)

    @property
    def n_ranks(self) -> int | None:
        """Ranks of a communicator: only the first of a process may be listed."""
        if not self.gpus or len(self.groups) > 1:
            return None
        return (max(self.gpus) // self.width + 1) * self.width

    def read(self, line: str) -> None:
        """Take what a line tells that is no row."""
        if program := _PROGRAM.search(line):
            self.category = CATEGORIES[program[1]]
        if width := _WIDTH.search(line):
            self.width = max(1, int(width[1][:6]) * int(width[2][:6]))
            self.gpus, self.groups = {}, set()
            self.n = _iterations(line)
            graph = _GRAPH.search(line)
            self.mode = "graph" if graph and int(graph[1][:9]) else "eager"
        if rank := _RANK.match(line):
            self.gpus[int(rank[1][:9])] = rank[3].strip()
            self.groups.add(rank[2])
        cells = line.lstrip("# ").split()
        if cells[:2] == ["size", "count"] and "algbw" in cells:
            self.heading = [cell for cell in cells if cell != "timestamp"]


def points_of_text(content: str, file_name: str) -> Sheet:
    """Points of everything printed; the file's name tells the program where no line does."""
    sheet = Sheet()
    test = _Test()
    test.read(f"# {file_name}")
    begin = sheet.place
    for line in _lines(content):
        cells = [cell for cell in line.split() if not _STAMP.fullmatch(cell)]
        if test.heading and cells and _is_of_row(cells[0], test):
            _take(cells, test, sheet)
        elif summary := _SUMMARY.search(line):
            if summary[1] == "FAILED":
                sheet.fail(begin, line)
            begin = sheet.place
        else:
            test.read(line)
    _drop_pending(test, sheet)
    return sheet


def points_of_json(said: dict[str, Any]) -> Sheet:
    """Points of the object that -J writes; JSON_FILE_VERSION 1 to 3."""
    test = _test_of_json(said)
    sheet = Sheet()
    results = said.get("results")
    for result in results if isinstance(results, list) else []:
        if not isinstance(result, dict):
            sheet.add(None, repr(result))
            continue
        for half in ("out_of_place", "in_place"):
            if result.get(half) is None:
                continue
            if _n_wrong(result[half]):
                sheet.wrong.append(repr(result))
            else:
                sheet.add(_point_of_json(test, result, half), repr(result))
    verdict = said.get("out_of_bounds")
    if isinstance(verdict, dict) and verdict.get("okay") in (False, "false"):
        sheet.fail((0, 0), f"out_of_bounds: {verdict!r}")
    return sheet


def _lines(content: str) -> Iterator[str]:
    """Lines without NCCL's own; the two parts of one that they cut are one again."""
    cut = ""
    for line in content.splitlines():
        own = _LAUNCHER.sub("", line, count=1) if line.startswith("[") else line
        nccl = _NCCL_LINE.search(own) if "NCCL " in own else None
        if nccl:
            cut += own[: nccl.start()]
            continue
        yield cut + own
        cut = ""


def _iterations(line: str) -> int | None:
    aggregated = _AGGREGATED.search(line)
    calls = _ITERATIONS.search(line)
    return count(int(calls[1][:9]) * int(aggregated[1][:9] if aggregated else 1)) if calls else None


def _is_of_row(first: str, test: _Test) -> bool:
    return first.isdecimal() or bool(test.pending) and _number(first) is not None


def _take(cells: list[str], test: _Test, sheet: Sheet) -> None:
    """Points of a row; where a line break came into it, of what was kept and this line."""
    joined = [*test.pending, *cells]
    if test.pending and len(joined) > len(test.heading):
        _drop_pending(test, sheet)
        joined = cells
    if len(joined) < len(test.heading):
        test.pending = joined
        return
    test.pending = []
    for is_in_place, half in _halves(test.heading, joined):
        if _number(half.get("#wrong", "")):
            sheet.wrong.append(" ".join(joined))
        else:
            sheet.add(_point_of_row(test, half, is_in_place), " ".join(joined))


def _drop_pending(test: _Test, sheet: Sheet) -> None:
    if test.pending:
        sheet.add(None, " ".join(test.pending))
    test.pending = []


def _halves(heading: list[str], cells: list[str]) -> Iterator[tuple[bool, dict[str, str]]]:
    """Cells by heading, out of place and in place, each with the columns that both have."""
    starts = [place for place, name in enumerate(heading) if name in _TIMES]
    shared = dict(zip(heading[: starts[0]], cells, strict=False)) if starts else {}
    for number, start in enumerate(starts[:2]):
        end = starts[1] if number == 0 and len(starts) > 1 else len(cells)
        yield (
            number == 1,
            {**shared, **dict(zip(heading[start:end], cells[start:end], strict=False))},
        )


def _point_of_row(test: _Test, cells: dict[str, str], is_in_place: bool) -> Point | None:
    size = cells.get("size", "")
    time_us = _number(_time_of(cells))
    if not size.isdecimal() or time_us is None:
        return None
    point = _point(test, int(size[:18]), cells.get("type"), is_in_place, time_us)
    return point if _is_consistent(cells, time_us) else None


def _is_consistent(cells: dict[str, str], time_us: float) -> bool:
    """Whether size, time and bandwidth agree as far as they are printed: torn rows do not."""
    algbw = _number(cells.get("algbw", ""))
    if algbw is None or not time_us:
        return False
    expected = int(cells["size"][:18]) / time_us / 1000
    share = 0.06 if "e" in _time_of(cells) else 0.01
    return abs(expected - algbw) <= _ROUNDING + share * expected


def _time_of(cells: dict[str, str]) -> str:
    return next((cells[name] for name in _TIMES if name in cells), "")


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if 0 <= number < 1e15 else None


def _point(
    test: _Test,
    size: int,
    dtype: object,
    is_in_place: bool,
    time_us: float,
    p95_us: float | None = None,
) -> Point | None:
    time_ns = integer(round(time_us * 1000), MAX_TIME_NS)
    if test.category is None or not time_ns or not 0 < size < MAX_BYTES:
        return None
    return Point(
        tool="nccl-tests",
        mode=test.mode,
        category=test.category,
        backend="nccl",
        n_ranks=test.n_ranks,
        gpu=test.gpus[min(test.gpus)] if test.gpus else None,
        dtype=text(dtype),
        bytes=size,
        is_in_place=is_in_place,
        n=test.n,
        time_ns=time_ns,
        p95_ns=None if p95_us is None else integer(round(p95_us * 1000), MAX_TIME_NS),
    )


def _test_of_json(said: dict[str, Any]) -> _Test:
    config = said.get("config")
    config = config if isinstance(config, dict) else {}
    arguments = said.get("args")
    test = _Test()
    if isinstance(arguments, list) and arguments:
        test.read(f"# {arguments[0]}")
    calls, aggregated = (count(config.get(f"{name}iterations")) for name in ("", "aggregated_"))
    test.n = count(calls * (aggregated or 1)) if calls else None
    test.width = (count(config.get("nthreads")) or 1) * (count(config.get("ngpus")) or 1)
    test.mode = "graph" if count(config.get("graph")) else "eager"
    devices = config.get("devices", said.get("devices"))
    for device in devices if isinstance(devices, list) else []:
        rank = integer(device.get("rank"), 2**31) if isinstance(device, dict) else None
        if rank is not None:
            test.gpus[rank] = text(device.get("device_info")) or ""
    return test


def _point_of_json(test: _Test, result: dict[str, Any], half: str) -> Point | None:
    times = result[half]
    each = result.get(f"{half}_per_iter")
    each = each if isinstance(each, dict) else {}
    size = integer(result.get("size"), MAX_BYTES)
    if not isinstance(times, dict) or size is None:
        return None
    mean_us = _measured(times.get("time", times.get("cpu_time")))
    time_us = _measured(each.get("p50_us")) or mean_us
    if time_us is None:
        return None
    p95_us = _measured(each.get("p95_us"))
    return _point(test, size, result.get("type"), half == "in_place", time_us, p95_us)


def _measured(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return _number(str(value)) if is_number else None


def _n_wrong(times: object) -> float:
    """Elements that were not what they should be; 0 where it was not checked."""
    return (_measured(times.get("nwrong")) or 0) if isinstance(times, dict) else 0
