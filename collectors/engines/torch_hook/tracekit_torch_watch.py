"""Ends a recording in time: a thread looks, the main thread acts, as torch.profiler wants it."""

import ctypes
import threading
import time
from collections.abc import Callable
from pathlib import Path

POLL_S = 0.2
LEAST_MEMORY_SHARE = 0.08
"""Share of the machine's memory that has to stay free; writing a trace takes some itself."""


def on_main_thread(function: Callable[[], object]) -> None:
    """Have the main thread call `function` as soon as it runs Python again."""
    if threading.current_thread() is threading.main_thread():
        function()
        return

    def call(_: object) -> int:
        _pending.remove(callback)
        function()
        return 0

    callback = _PENDING_CALL(call)
    _pending.append(callback)  # it has to live until it is called
    ctypes.pythonapi.Py_AddPendingCall(callback, None)


class Watch:
    """Calls `end` on the main thread when `seconds` are over or memory runs out.

    It calls again until `end` says that it could act; None for `seconds` sets no time.
    """

    def __init__(self, seconds: float | None, end: Callable[[], bool]) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._end = end
        self._is_over = threading.Event()
        threading.Thread(target=self._watch, name="tracekit", daemon=True).start()

    def cancel(self) -> None:
        """Call no more."""
        self._is_over.set()

    def _watch(self) -> None:
        while not self._is_over.wait(POLL_S):
            if self._is_late() or is_memory_short(Path("/proc/meminfo")):
                on_main_thread(self._try_to_end)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _try_to_end(self) -> None:
        if not self._is_over.is_set() and self._end():
            self._is_over.set()


def is_memory_short(meminfo: Path) -> bool:
    """Whether less than `LEAST_MEMORY_SHARE` of the memory is available; False where unknown."""
    try:
        lines = [line.split() for line in meminfo.read_text().splitlines()]
    except OSError:
        return False
    kilobytes = {words[0]: int(words[1]) for words in lines if len(words) > 1}
    total, available = kilobytes.get("MemTotal:", 0), kilobytes.get("MemAvailable:", 0)
    return available < LEAST_MEMORY_SHARE * total


_PENDING_CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_pending: list[object] = []
