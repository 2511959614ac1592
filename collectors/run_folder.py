"""The folder of one run: raw files, and run.json that says what they are."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tracekit import __version__
from tracekit.errors import CaptureError

FORMAT = 1
PROFILED, UNPROFILED = "profiled", "unprofiled"
"""Names of the windows that count."""


def unprofiled_names(n: int) -> list[str]:
    """Names of `n` windows without the profiler: unprofiled, unprofiled-2, ..."""
    return [UNPROFILED, *(f"{UNPROFILED}-{number}" for number in range(2, n + 1))]


FOLDERS = ("traces", "logs", "metrics", "load", "gpu", "nccl", "machine", "models")
KINDS = {
    "traces/*.json": "trace",
    "traces/*.json.gz": "trace",
    "logs/server.log": "server_log",
    "logs/script.log": "script_log",
    "logs/load_*.log": "load_log",
    "metrics/*.prom": "metrics",
    "load/*.jsonl": "load",
    "gpu/*.csv": "gpu_samples",
    "nccl/*": "nccl_log",
    "machine/*": "context",
    "models/*/config.json": "config",
    "calibration.json": "calibration",
}
"""What the files of a run folder are; `other` where none of these is theirs."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of a run folder; `path` is absolute and its last part the run's name."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.path.name

    @property
    def traces(self) -> Path:
        """Traces, one per rank."""
        return self.path / "traces"

    @property
    def nccl(self) -> Path:
        """NCCL logs, one per process."""
        return self.path / "nccl"

    @property
    def machine(self) -> Path:
        """What tools say of the machine."""
        return self.path / "machine"

    @property
    def server_log(self) -> Path:
        """What the server wrote to stdout and stderr."""
        return self.path / "logs" / "server.log"

    @property
    def script_log(self) -> Path:
        """The same of a script."""
        return self.path / "logs" / "script.log"

    def load_rows(self, window: str) -> Path:
        """One JSON row per request of the built-in load."""
        return self.path / "load" / f"{window}.jsonl"

    def load_log(self, window: str) -> Path:
        """What a load command prints."""
        return self.path / "logs" / f"load_{window}.log"

    def gpu_samples(self, window: str) -> Path:
        """Clocks, power and temperature of the GPUs in a window."""
        return self.path / "gpu" / f"{window}.csv"

    def metrics(self, window: str, moment: str) -> Path:
        """/metrics `before` or `after` a window."""
        return self.path / "metrics" / f"{window}_{moment}.prom"

    @property
    def run_json(self) -> Path:
        """What ran, and what each file is."""
        return self.path / "run.json"

    @property
    def calibration(self) -> Path:
        """What `tracekit bench` measured."""
        return self.path / "calibration.json"

    def create(self) -> None:
        """Make the folder and those in it.

        Raises:
            CaptureError: it has something in it, or cannot be made.
        """
        self.refuse_taken()
        try:
            for name in FOLDERS:
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._cannot_be_made(error) from error

    def _cannot_be_made(self, error: OSError) -> CaptureError:
        return CaptureError(
            f"{self.path}: cannot be made: {error.strerror}; choose another folder with --out"
        )

    def refuse_taken(self) -> None:
        """Raise CaptureError where a run of this name is there."""
        try:
            is_taken = self._is_taken()
        except OSError as error:
            raise self._cannot_be_made(error) from error
        if is_taken:
            raise CaptureError(
                f"{self.path}: a run of this name is there; choose another --run, or --replace it"
            )

    def refuse_irreplaceable(self) -> None:
        """Raise CaptureError where something other than a run that can be removed is there."""
        try:
            if self.path.is_symlink():
                what = "a symbolic link, which --replace leaves alone"
            elif not self._is_taken() or self.run_json.is_file():
                return
            else:
                what = "not a run that tracekit recorded, so that --replace leaves it alone"
        except OSError as error:
            raise self._cannot_be_removed(error) from error
        raise CaptureError(f"{self.path}: {what}; choose another --run, or remove it yourself")

    def remove(self) -> None:
        """Remove a run that was recorded here; anything else stays.

        Raises:
            CaptureError: it cannot be removed.
        """
        self.refuse_irreplaceable()
        try:
            if self.run_json.is_file():
                shutil.rmtree(self.path)
        except OSError as error:
            raise self._cannot_be_removed(error) from error

    def _cannot_be_removed(self, error: OSError) -> CaptureError:
        return CaptureError(
            f"{error.filename or self.path}: cannot be removed: {error.strerror}; "
            "check its rights, or choose another --run"
        )

    def _is_taken(self) -> bool:
        return self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir()))

    def if_written(self, path: Path) -> str | None:
        """`path` as run.json has it; None where there is no such file."""
        return self.relative(path) if path.exists() else None

    def relative(self, path: Path) -> str:
        """`path` as run.json has it."""
        return path.relative_to(self.path).as_posix()

    def write(self, context: Mapping[str, object]) -> None:
        """Write run.json anew; one that is there is kept where this fails."""
        content = {"format": FORMAT, "tracekit_version": __version__, "synthetic": False}
        text = json.dumps({**content, **context, "files": dict(self._files())}, indent=1)
        draft = self.run_json.with_suffix(".tmp")
        try:
            draft.write_text(f"{text}\n", encoding="utf-8")
            draft.replace(self.run_json)
        except OSError:
            draft.unlink(missing_ok=True)
            raise

    def drop_empty(self) -> None:
        """Remove the folders that nothing was written to."""
        for name in FOLDERS:
            folder = self.path / name
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def take(self, path: Path, folder: Path, *, is_ours: bool) -> None:
        """Move a file into `folder` of the run, or copy it where it is the user's."""
        target = folder / path.name
        if target == path:
            return
        if is_ours:
            shutil.move(path, target)
        else:
            shutil.copyfile(path, target)

    def _files(self) -> Iterator[tuple[str, str]]:
        for path in sorted(self.path.rglob("*")):
            name = self.relative(path)
            if path.is_file() and (path.parent != self.path or name in KINDS):
                found = (kind for pattern, kind in KINDS.items() if fnmatchcase(name, pattern))
                yield name, next(found, "other")
