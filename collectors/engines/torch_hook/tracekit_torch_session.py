"""The recordings of one process, of which the last is kept: begun anew, ended in time, written."""

import atexit
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from tracekit_torch import Recording, trace_name, world
from tracekit_torch_scopes import OpenScopes
from tracekit_torch_watch import Watch, on_main_thread

SETTLE_S = 0.1
"""For gloo's threads to let go of the last collective: since torch 2.13 that takes Python's lock,
and a thread that asks for it while Python ends is killed, the process with it. Of 36 processes that
trained to their script's last line 10 died so without the wait, none of 58 with it.

Source: torch 2.13, `_engine_run_backward` leaves its context to the collectives it started.
"""


class Settings(NamedTuple):
    """What a capture asks for: folders, `warmup` and `steps` in optimizer steps, what to record."""

    traces: str
    notes: str
    steps: int
    warmup: int
    seconds: float
    shapes: bool
    stacks: bool
    memory: bool


class Stage(IntEnum):
    """What a recording begins with; a later one is worth more."""

    NOTHING = 0
    TORCH = 1
    MODEL = 2
    OPTIMIZER = 3


class Session:
    """Recordings from the first use of torch to the end of the process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.is_over = False
        self.scopes = OpenScopes(lambda: self._recording is not None)
        self._place = ""
        self._stage = Stage.NOTHING
        self._recording: Recording | None = None
        self._watch: Watch | None = None
        self._is_changing = False
        self._ending_signal = 0

    def claim(self) -> bool:
        """Whether this process is the first in its place: others inherit its RANK, and are not."""
        place = world()
        if self._recording:
            self._recording.world = place
        name = f"{trace_name(place)}.claim" if place else "alone.claim"
        if name == self._place:
            return False
        try:
            (Path(self.settings.notes) / name).touch(exist_ok=False)
        except OSError:  # it is there, or the capture is over and its folder gone
            return False
        is_first_claim, self._place = not self._place, name
        if is_first_claim:
            atexit.register(self._at_exit)
            os.register_at_fork(after_in_child=self._forget)
        return is_first_claim

    def begin(self, stage: Stage) -> None:
        """Record from now on; what was recorded before is dropped."""
        self._change(lambda: self._begin(stage))

    def step(self) -> None:
        """End a step of the recording and begin the next."""
        self._change(self._step)

    def finish(self) -> bool:
        """Write what was recorded and record no more; False where that has to wait."""
        return self._change(self._finish)

    def give_way(self) -> None:
        """Leave the profiler to somebody else; what was recorded is dropped."""
        self._change(self._abandon)

    def make_room(self) -> None:
        """Write what was recorded, as somebody else starts a profiler."""
        if not self._is_changing and self._recording:
            _say("the script starts a profiler of its own, tracekit's ends here")
            self.finish()

    @property
    def is_claimed(self) -> bool:
        """Whether this process is the one that records for its rank."""
        return bool(self._place)

    def keep(self, recording: Recording) -> None:
        """Write a recording that has stopped, and note what it holds."""
        import torch

        recording.write(Path(self.settings.traces))
        place = recording.world
        self._note(
            rank=place.rank if place else 0,
            world_size=place.size if place else 1,
            start_ns=recording.start_ns,
            end_ns=recording.end_ns,
            n_steps=recording.n_steps,
            torch=str(torch.__version__),
        )

    def _change(self, change: Callable[[], object]) -> bool:
        """Make a change unless one is under way: a signal or the watch comes at any moment."""
        if threading.current_thread() is not threading.main_thread():
            on_main_thread(lambda: self._change(change))
            return False
        if self.is_over or self._is_changing:
            return self.is_over
        self._is_changing = True
        try:
            change()
        except Exception as error:  # noqa: BLE001 - whatever fails here, the script goes on
            self.is_over = True
            self._note(error=f"{type(error).__name__}: {error}")
        finally:
            self._is_changing = False
        if self._ending_signal:
            self._end_by_signal()
        return True

    def _begin(self, stage: Stage) -> None:
        if stage <= self._stage:
            return
        self._stop()
        self._stage = stage
        asked = self.settings
        self._recording = Recording(shapes=asked.shapes, stacks=asked.stacks, memory=asked.memory)
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._on_sigterm)
        self._recording.start()
        seconds = None if stage is Stage.OPTIMIZER else asked.seconds
        self._watch = Watch(seconds, self._end_early)

    def _step(self) -> None:
        if self._recording:  # memory may have run out meanwhile
            self._recording.step()

    def _end_early(self) -> bool:
        """Time or memory is up: keep what is there, until there is something better."""
        return self._change(lambda: self._keep(self._stop()))

    def _finish(self) -> None:
        self.is_over = True
        self._keep(self._stop())

    def _abandon(self) -> None:
        self.is_over = True
        self._stop()

    def _stop(self) -> Recording | None:
        recording, self._recording = self._recording, None
        if self._watch:
            self._watch.cancel()
        if recording:
            self.scopes.end()
            recording.stop()
            if signal.getsignal(signal.SIGTERM) == self._on_sigterm:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return recording

    def _keep(self, recording: Recording | None) -> None:
        if recording and not self._has_only_started_others(recording):
            self.keep(recording)

    def _has_only_started_others(self, recording: Recording) -> bool:
        return not recording.world and any(Path(self.settings.notes).glob("rank*.claim"))

    def _at_exit(self) -> None:
        self.finish()
        if world():
            time.sleep(SETTLE_S)

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        self._ending_signal = number
        if not self._is_changing:
            self._end_by_signal()

    def _end_by_signal(self) -> None:
        self.finish()
        signal.signal(self._ending_signal, signal.SIG_DFL)
        os.kill(os.getpid(), self._ending_signal)

    def _forget(self) -> None:
        """In a forked child: the recording is the parent's."""
        self.is_over = True
        self._recording = None

    def _note(self, **content: object) -> None:
        rank = world()
        path = Path(self.settings.notes) / f"rank{rank.rank if rank else 0}.json"
        with suppress(OSError):  # the capture is gone, and with it who would read this
            path.write_text(json.dumps(content))


def _say(line: str) -> None:
    sys.stderr.write(f"tracekit: {line}\n")
