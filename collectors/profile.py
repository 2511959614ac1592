"""`with tracekit.profile(folder):` around any code that uses torch."""

import os
import platform
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tracekit.collectors.engines.torch_hook.tracekit_torch import Recording, trace_name, world
from tracekit.collectors.run_folder import PROFILED, RunFolder
from tracekit.collectors.secrets import known_secrets, redacted_arguments, redacted_environment
from tracekit.errors import CaptureError

HOOK = "tracekit_torch_hook"
"""Module that is there where `tracekit capture --engine torch` runs this process."""


def profile(
    folder: str | os.PathLike[str],
    *,
    steps: int | None = None,
    warmup: int = 0,
    shapes: bool = False,
    stacks: bool = False,
    memory: bool = False,
) -> "Profile":
    """Profile the body of a `with`, into a run folder that `tracekit ingest` takes.

    Call `step()` of what it gives after each iteration: the first `warmup` iterations are left
    out, then `steps` are recorded, or all to the end of the body. In a script of several
    processes each rank gives the same folder and writes its own trace. Within
    `tracekit capture --engine torch` the trace goes into the folder of the capture.

    Raises:
        CaptureError: torch is missing, this rank wrote into `folder` before, nothing was recorded.
    """
    asked = {"shapes": shapes, "stacks": stacks, "memory": memory}
    return Profile(Path(folder), steps, warmup, asked)


class Profile:
    """A window of torch.profiler, in steps."""

    def __init__(
        self, folder: Path, steps: int | None, warmup: int, asked: dict[str, bool]
    ) -> None:
        """Nothing starts before the `with`."""
        self._folder = RunFolder(folder.absolute())
        self._steps = steps
        self._warmup = warmup
        self._asked = asked
        self._n_steps = 0
        self._recording: Recording | None = None
        self._is_written = False
        self._capture: Any = None

    def __enter__(self) -> Self:
        if find_spec("torch") is None:
            raise CaptureError(
                "tracekit.profile: torch is not installed; pip install 'tracekit-llm[torch]'"
            )
        self._capture = _capture()
        if self._capture:
            self._capture.give_way()
            self._steps = self._steps or self._capture.settings.steps
        elif (trace := self._folder.traces / trace_name(world())).exists():
            raise CaptureError(f"{trace}: is there already; give each profile a folder of its own")
        if self._warmup == 0:
            self._start()
        return self

    def step(self) -> None:
        """An iteration is over."""
        self._n_steps += 1
        n_recorded = self._n_steps - self._warmup
        if n_recorded == 0 and self._warmup:
            self._start()
        elif self._recording and n_recorded == self._steps:
            self._finish(self._recording)
        elif self._recording:
            self._recording.step()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write what was recorded, also where the body failed."""
        if self._recording:
            self._finish(self._recording)
        if not self._is_written and error is None:
            raise CaptureError(
                f"{self._folder.path}: nothing recorded, {self._n_steps} calls of step() and "
                f"{self._warmup} iterations to leave out; call it after each, or give less warmup"
            )

    def _start(self) -> None:
        self._recording = Recording(**self._asked)
        self._recording.start()

    def _finish(self, recording: Recording) -> None:
        self._recording = None
        self._is_written = True
        recording.stop()
        try:
            self._write(recording)
        except OSError as error:
            raise CaptureError(
                f"{self._folder.path}: cannot be written: {error}; give a folder with room"
            ) from error

    def _write(self, recording: Recording) -> None:
        if self._capture:
            self._capture.keep(recording)
            return
        recording.write(self._folder.traces)
        if not recording.world or recording.world.rank == 0:
            self._folder.write(self._context(recording))

    def _context(self, recording: Recording) -> dict[str, object]:
        import torch

        known = known_secrets(sys.orig_argv, os.environ)
        window = {
            "name": PROFILED,
            "is_profiled": True,
            "start_ns": recording.start_ns,
            "dur_ns": recording.end_ns - recording.start_ns,
        }
        versions = {
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda,
        }
        return {
            "status": "complete",
            "error": None,
            "engine": {"name": "torch", "version": versions["torch"]},
            "command": redacted_arguments(sys.orig_argv, known),
            "environment": redacted_environment(os.environ, known),
            "versions": versions,
            "options": {"steps": self._steps, "warmup": self._warmup, **self._asked},
            "windows": [window],
        }


def _capture() -> Any:
    """What records this process in `tracekit capture`; None where there is no such thing."""
    hook = sys.modules.get(HOOK)
    session = hook.session if hook else None
    return session if session and session.is_claimed else None
