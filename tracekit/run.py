"""Which files make a run: of a run folder, of any folder, or any file.

A run folder is what `tracekit capture` writes, and a good layout for a recording made by hand:

    run.json     what ran (tracekit/readers/context.py has its form)
    traces/      one Kineto trace per rank; `torch/` will do as well
    logs/        logs of the server and of NCCL
    metrics/     the server's /metrics before and after each window: `*before*`, `*after*`
    load/        a row for each request
    gpu/         samples of the GPUs

Nothing but a trace is needed, and files are told apart by what is in them. Of a capture that
failed not even that: its run.json is enough. Measured sizes of collectives (nccl-tests, `tracekit
bench`) are a run too.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.errors import RunError
from tracekit.readers.folder import InputFile, as_text, files_at
from tracekit.readers.kind import HEAD_BYTES, Kind, load_json, read_text
from tracekit.readers.kineto import TraceFile

_TRACE_FOLDER = re.compile(
    r"traces?|torch|torch_profiler|profiles?|(?:rank|worker|node|host)[-_]?\d+", re.I
)
"""Folders within a run that hold its traces, or those of one rank or host."""

_SHOWN_CHARACTERS = 40
_OF_NO_RANK = re.compile(r"graph_capture_rank_|(?:merged|rpd)-.*\.trace\.json")
"""vLLM's graph capture and SGLang's merged file: what the ranks' own files have, once more."""

_SUFFIX = re.compile(r"(?:\.pt)?(?:\.trace)?(?:\.json|\.txt|\.log|\.out)?(?:\.gz|\.zst)?$")


@dataclass(frozen=True, slots=True)
class RunInput:
    """The files of one run: its traces, and all others whether they are used or not.

    `traces` are numbered from 0 (`file_id`), `others` go on from there in their order.
    """

    name: str
    source: str
    traces: tuple[TraceFile, ...]
    others: tuple[InputFile, ...]

    @property
    def is_failed(self) -> bool:
        """Whether it is of a capture that failed: then its traces may be broken or missing."""
        return any(_status(file) == "failed" for _, file in self.of_kind("run_json"))

    def of_kind(self, kind: Kind) -> list[tuple[int, InputFile]]:
        """The others of one kind with their `file_id`."""
        numbered = enumerate(self.others, start=len(self.traces))
        return [(file_id, file) for file_id, file in numbered if file.kind == kind]


def discover(
    paths: Sequence[str | os.PathLike[str]],
    *,
    run: str | None = None,
    rank: int | None = None,
    each: bool = False,
) -> list[RunInput]:
    """Runs that `paths` hold: one, or with `each` one per folder that has traces of its own.

    `run` names the run, and joins several folders into it where they are given one by one; by
    default a run has its folder's or file's name. `rank` is for a single trace that tells none.

    Raises:
        RunError: no trace, several runs without `each`, or something that cannot be read.
    """
    if run is not None and each:
        raise RunError(f"--run {run}: --each names each run after its folder; give one of the two")
    if not paths:
        raise RunError("no path given; give a trace or a run folder")
    groups = [group for path in paths for group in _groups(path)]
    runs = [_run_of([group], None) for group in groups] if each else [_joined(groups, run)]
    _refuse_repeated(runs)
    return runs if rank is None else [_with_rank(runs, rank)]


@dataclass(frozen=True, slots=True)
class _Group:
    """Files of one root: a folder with traces of its own, or a path that was given as such."""

    given: str
    root: Path
    files: tuple[InputFile, ...]
    is_only: bool

    def is_run(self) -> bool:
        return any(map(_makes_run, self.files)) or _is_measured(self.files)


def _groups(given: str | os.PathLike[str]) -> list[_Group]:
    base = Path(os.path.normpath(Path(given).absolute()))
    files = [_set_aside(file) for file in files_at(base)]
    roots = _roots(base, files)
    if len(roots) < 2:
        return [_Group(as_text(given), base, tuple(files), is_only=True)]
    owned = {root: [file for file in files if _owner(file, roots) == root] for root in roots}
    return [
        _Group(as_text(given), root, tuple(own), is_only=False)
        for root, own in sorted(owned.items())
    ]


def _set_aside(file: InputFile) -> InputFile:
    return replace(file, kind="other") if _OF_NO_RANK.match(file.path.name) else file


def _roots(base: Path, files: Iterable[InputFile]) -> set[Path]:
    """Folders with traces of their own: the nearest that has a run.json, or not a mere holder.

    Those of captures that failed count too, and those with a run.json and measured sizes.
    """
    notes = [file for file in files if file.kind == "run_json"]
    marked = {file.path.parent for file in notes}
    failed = {file.path.parent for file in notes if _status(file) == "failed"}
    measured = {file.path.parent for file in files if file.kind == "calibration"} & marked
    traced = {_root(file.path, base, marked) for file in files if file.kind == "trace"}
    return failed | measured | traced


def _root(trace: Path, base: Path, marked: set[Path]) -> Path:
    folders = [folder for folder in trace.parents if folder.is_relative_to(base)]
    for folder in folders:
        if folder in marked:
            return folder
    named = (folder for folder in folders if not _TRACE_FOLDER.fullmatch(folder.name))
    return next(named, base)


def _makes_run(file: InputFile) -> bool:
    return file.kind == "trace" or _status(file) == "failed"


def _is_measured(files: Iterable[InputFile]) -> bool:
    """Whether they are a run by their sizes alone; without a run.json they join another's."""
    return {"calibration", "run_json"} <= {file.kind for file in files}


def _owner(file: InputFile, roots: set[Path]) -> Path | None:
    return next((folder for folder in file.path.parents if folder in roots), None)


def _status(file: InputFile) -> object:
    """How the capture ended that wrote a run.json; None of other files."""
    said = load_json(file.path) if file.kind == "run_json" else None
    return (said or {}).get("status")


def _joined(groups: list[_Group], run: str | None) -> RunInput:
    holders = _holders(groups)
    folders = [group for group in holders if group.root.is_dir()]
    if len(folders) > 1 and (run is None or not all(group.is_only for group in folders)):
        raise RunError(_several(folders))
    return _run_of(groups, run)


def _several(folders: list[_Group]) -> str:
    place = _shortened(group.given for group in folders)
    names = ", ".join(as_text(group.root.name) for group in folders)
    way_out = "--each makes one run of each"
    if all(group.is_only for group in folders):
        way_out += ", --run NAME joins them"
    return f"{place}: {len(folders)} runs ({names}); {way_out}"


def _holders(groups: list[_Group]) -> list[_Group]:
    """Groups that are runs; where none is, those with anything measured."""
    runs = [group for group in groups if group.is_run()]
    return runs or [g for g in groups if any(file.kind == "calibration" for file in g.files)]


def _run_of(groups: list[_Group], run: str | None) -> RunInput:
    source = _shortened(group.given for group in groups)
    base = _base(groups)
    files = _shown_from(base, groups)
    traces = [file for file in files if file.kind == "trace"]
    if not any(_makes_run(file) or file.kind == "calibration" for file in files):
        raise RunError(_no_trace(source, files))
    return RunInput(
        name=_valid(_default_name(groups, base) if run is None else run, source),
        source=source,
        traces=tuple(TraceFile(file.path, file.shown, i) for i, file in enumerate(traces)),
        others=tuple(file for file in files if file.kind != "trace"),
    )


def _shortened(given: Iterable[str]) -> str:
    """Paths as one text; a shell may have made hundreds of `*.json.gz`."""
    first, *rest = dict.fromkeys(given)
    return f"{first} and {len(rest)} more" if len(rest) > 3 else ", ".join([first, *rest])


def _base(groups: list[_Group]) -> Path:
    """Folder that `shown` paths are relative to."""
    folders = [group.root if group.root.is_dir() else group.root.parent for group in groups]
    return Path(os.path.commonpath(folders))


def _shown_from(base: Path, groups: list[_Group]) -> list[InputFile]:
    unique = {os.path.realpath(file.path): file for group in groups for file in group.files}
    return [replace(file, shown=as_text(file.path.relative_to(base))) for file in unique.values()]


def _default_name(groups: list[_Group], base: Path) -> str:
    holders = [group.root for group in _holders(groups)]
    root = holders[0] if len(holders) == 1 else base
    if not root.is_dir():
        return _SUFFIX.sub("", root.name) or root.name
    names = (folder.name for folder in (root, *root.parents))
    return next(name for name in names if not _TRACE_FOLDER.fullmatch(name))


def _valid(name: str, source: str) -> str:
    if not name:
        raise RunError(f"{source}: a run needs a name; give one with --run NAME")
    return as_text(name)


def _no_trace(source: str, files: list[InputFile]) -> str:
    return f"{source}: {_found(files)}; give what torch.profiler wrote: JSON with traceEvents"


def _found(files: list[InputFile]) -> str:
    if len(files) == 1 and files[0].kind == "other":
        head = read_text(files[0].path, HEAD_BYTES).strip()[:_SHOWN_CHARACTERS]
        return f"no trace, it begins with {head!r}" if head else "no trace, nothing is in it"
    kinds = Counter(file.kind for file in files)
    of_unknown = {"other": "of no known kind"}
    listed = [f"{count} {of_unknown.get(kind, kind)}" for kind, count in kinds.most_common()]
    return f"no trace in it ({', '.join(listed) or 'no file'})"


def _refuse_repeated(runs: list[RunInput]) -> None:
    sources: dict[str, str] = {}
    for run in runs:
        place = as_text(run.traces[0].path.parent) if run.traces else run.source
        if run.name in sources:
            raise RunError(
                f"{place}: a second run {run.name!r}, besides {sources[run.name]}; "
                "ingest it by itself with --run NAME"
            )
        sources[run.name] = place


def _with_rank(runs: list[RunInput], rank: int) -> RunInput:
    """The run with `rank` on its one trace; vLLM's front end has none and does not count."""
    ranked = [t for run in runs for t in run.traces if ".async_llm." not in t.path.name]
    if len(runs) != 1 or len(ranked) != 1:
        raise RunError(
            f"--rank {rank}: names the rank of one trace, {len(ranked)} are given; "
            "give one, or let file names end in rank0, rank1, ..."
        )
    traces = [replace(t, rank=rank) if t is ranked[0] else t for t in runs[0].traces]
    return replace(runs[0], traces=tuple(traces))
