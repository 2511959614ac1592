"""Windows of a capture, from run.json, to table `capture_window`; which file belongs to which.

    "windows": [{"name": "profiled", "is_profiled": true, "concurrency": 4,
                 "start_ns": 1795961069016733685, "dur_ns": 1200000000, "stop_profile_ns": 90000000,
                 "metrics_before": "metrics/profiled_before.prom",
                 "metrics_after": "metrics/profiled_after.prom",
                 "log": {"path": "logs/server.log", "from_byte": 81233, "to_byte": 99120},
                 "load": "load/profiled.jsonl", "gpu_samples": "gpu/profiled.csv"}, ...]

Times are epoch ns, paths relative to run.json. All members but `name` may be left out. Paths are
compared with those of the files found beside it and never opened by themselves.
"""

import posixpath
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import duckdb

from tracekit.readers.accounts import note
from tracekit.readers.context import run_json_of
from tracekit.readers.folder import as_text
from tracekit.readers.kind import load_json
from tracekit.readers.prometheus import PROFILED, Moment, moments_of_names
from tracekit.readers.rows import Value, insert
from tracekit.readers.values import count, integer, text
from tracekit.run import RunInput

MAX_START_NS = 2**62
MAX_LOG_BYTES = 2**62
MAX_DURATION_NS = 366 * 86_400 * 10**9

_MOMENTS: tuple[tuple[Moment, str], ...] = (
    ("before", "metrics_before"),
    ("after", "metrics_after"),
)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch in which a load ran; None where nothing tells."""

    name: str
    is_profiled: bool
    concurrency: int | None = None
    start_ns: int | None = None
    dur_ns: int | None = None
    stop_profile_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of a run, and by `file_id` what each file of theirs holds."""

    metrics: dict[int, tuple[str, Moment]]
    files: dict[int, Window]
    logs: dict[int, list[tuple[int, int, str]]]

    def name_of(self, file_id: int) -> str | None:
        """Window that a file of GPU samples or requests belongs to; None where to none."""
        window = self.files.get(file_id)
        return None if window is None else window.name

    def of_line(self, file_id: int, byte: int) -> str | None:
        """Window in whose part of a log `byte` lies; None where in none."""
        parts = self.logs.get(file_id, [])
        place = bisect_right(parts, byte, key=lambda part: part[0]) - 1
        return parts[place][2] if place >= 0 and byte < parts[place][1] else None


def read_windows(con: duckdb.DuckDBPyConnection, inputs: RunInput) -> Windows:
    """Fill `capture_window`, and `ledger` with what of it makes no sense or is not there.

    Without windows in run.json the traces are the window `profiled`, and pairs of metrics whose
    names say so `unprofiled`.
    """
    run_json = run_json_of(inputs)
    said = load_json(run_json.path) if run_json else None
    listed = (said or {}).get("windows")
    if run_json is None or not isinstance(listed, list) or not listed:
        return _unlisted(con, inputs)
    reader = _Reader(inputs, posixpath.dirname(run_json.shown))
    for item in listed:
        reader.add(item)
    (file_id,) = (i for i, file in inputs.of_kind("run_json") if file is run_json)
    note(con, inputs.name, file_id, "window not understood", reader.not_understood)
    note(con, inputs.name, file_id, "file of a window that is not there", reader.missing)
    insert(con, "capture_window", [_row(inputs.name, window) for window in reader.windows])
    return reader.found()


class _Reader:
    """Takes the windows of run.json one by one, and finds their files."""

    def __init__(self, inputs: RunInput, folder: str) -> None:
        self.windows: list[Window] = []
        self.not_understood: list[str] = []
        self.missing: list[str] = []
        self._folder = folder
        self._ids = {file.shown: i for i, file in enumerate(inputs.others, len(inputs.traces))}
        self._found = Windows({}, {}, {})

    def add(self, item: object) -> None:
        window = _window(item)
        if window is None or window.name in {other.name for other in self.windows}:
            self.not_understood.append(as_text(repr(item)))
            return
        assert isinstance(item, dict)
        self.windows.append(window)
        for moment, member in _MOMENTS:
            for file_id in self._file(item.get(member)):
                self._found.metrics[file_id] = window.name, moment
        for member in ("load", "gpu_samples"):
            for file_id in self._file(item.get(member)):
                self._found.files[file_id] = window
        self._add_log(item.get("log"), window.name)

    def found(self) -> Windows:
        for parts in self._found.logs.values():
            parts.sort()
        return self._found

    def _add_log(self, log: object, window: str) -> None:
        if not isinstance(log, dict):
            return
        said = log.get("from_byte"), log.get("to_byte")
        start, end = (integer(byte, MAX_LOG_BYTES) for byte in said)
        for file_id in self._file(log.get("path")):
            if start is not None and end is not None and start < end:
                self._found.logs.setdefault(file_id, []).append((start, end, window))
            else:
                self.not_understood.append(as_text(f"log of {window}: {said[0]!r} to {said[1]!r}"))

    def _file(self, path: object) -> Iterator[int]:
        """`file_id` of the file; nothing where there is none."""
        if path is None:
            return
        name = posixpath.normpath(posixpath.join(self._folder, str(path)))
        if name in self._ids:
            yield self._ids[name]
        else:
            self.missing.append(as_text(str(path)))


def _window(item: object) -> Window | None:
    if not isinstance(item, dict) or (name := text(item.get("name"))) is None:
        return None
    return Window(
        name=name,
        is_profiled=item.get("is_profiled") is True,
        concurrency=count(item.get("concurrency")),
        start_ns=integer(item.get("start_ns"), MAX_START_NS),
        dur_ns=integer(item.get("dur_ns"), MAX_DURATION_NS),
        stop_profile_ns=integer(item.get("stop_profile_ns"), MAX_DURATION_NS),
    )


def _unlisted(con: duckdb.DuckDBPyConnection, inputs: RunInput) -> Windows:
    metrics = moments_of_names(inputs.of_kind("metrics"))
    names = {name for name, _ in metrics.values()} | ({PROFILED} if inputs.traces else set())
    windows = [_plain(con, name) for name in sorted(names)]
    insert(con, "capture_window", [_row(inputs.name, window) for window in windows])
    return Windows(metrics, {}, {})


def _plain(con: duckdb.DuckDBPyConnection, name: str) -> Window:
    """A window that no run.json names; that of the traces has their times."""
    if name != PROFILED:
        return Window(name, is_profiled=False)
    times = con.execute(_TRACED).fetchone() or (None, None)
    return Window(name, is_profiled=True, start_ns=times[0], dur_ns=times[1])


def _row(run: str, window: Window) -> dict[str, Value]:
    members = asdict(window)
    return {"run": run, "window_name": members.pop("name"), **members}


_TRACED = """
    SELECT min(window_start_ns), max(window_end_ns) - min(window_start_ns)
    FROM file
    WHERE kind = 'trace'
"""
