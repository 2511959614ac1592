"""Scopes that are open when a recording stops: torch would write their end into freed memory.

A `record_function` scope keeps a pointer into the profiler that it was opened under. Where that has
stopped and no other runs, torch forgets the end of the scope; where another runs, it writes through
the pointer (torch 2.13, `KinetoThreadLocalState`). A script's scope may be open around all of it,
and what goes before a better recording is stopped in its middle: so such scopes end with their
recording, and nothing is left to do where they end in the script.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any


class OpenScopes:
    """Python's scopes of the main thread that were opened while `is_recording` was true."""

    def __init__(self, is_recording: Callable[[], bool]) -> None:
        self._is_recording = is_recording
        self._open: dict[int, Any] = {}

    def watch(self, scope_class: Any) -> None:
        """Be told of scopes as they open and end; `scope_class` is torch's record_function."""
        enter, leave = scope_class.__enter__, scope_class.__exit__

        @functools.wraps(enter)
        def watched_enter(scope: Any) -> Any:
            entered = enter(scope)
            if self._is_recording() and threading.current_thread() is threading.main_thread():
                self._open[id(scope)] = scope
            return entered

        @functools.wraps(leave)
        def watched_leave(scope: Any, *error: Any) -> Any:
            self._open.pop(id(scope), None)
            return leave(scope, *error)

        scope_class.__enter__, scope_class.__exit__ = watched_enter, watched_leave

    def end(self) -> None:
        """End all that are open, the innermost first."""
        while self._open:
            _, scope = self._open.popitem()
            scope.__exit__(None, None, None)
            scope.run_callbacks_on_exit = False  # torch's word for: its end is taken care of
