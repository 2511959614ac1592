"""A load: what runs against a server in a window, and what comes of it."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tracekit.collectors.run_folder import RunFolder
from tracekit.collectors.secrets import Known, known_secrets
from tracekit.errors import CaptureError

T = TypeVar("T")
IsStopped = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class LoadWindow:
    """Where one run of a load goes: the server, the window's name, the run folder.

    `url` is the server's root without /v1. `api_key` goes into the Authorization header and
    nowhere else.

    Raises:
        CaptureError: an API key that no header can carry; the message does not show it.
    """

    url: str
    model: str
    name: str
    concurrency: int
    folder: RunFolder
    api_key: str | None = field(default=None, repr=False)
    known: Known = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        """Refuses an API key that no header can carry."""
        refuse_unusable_key(self.api_key)

    @property
    def secrets(self) -> Known:
        """What must not be written anywhere: the API key, and what is known of elsewhere."""
        return self.known | known_secrets(("--api-key", self.api_key or ""), {})


def refuse_unusable_key(key: str | None) -> None:
    """Raise CaptureError where no header can carry an API key; the message does not show it."""
    if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise CaptureError("API key: not printable ASCII without spaces; give it as issued")


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """A load that ran to its end.

    `start_ns` (epoch) is just before the first request, `dur_ns` reaches to the last answer; of a
    command: its start and end. Counts are None where they are not known, as with a command;
    `n_tokens` are those the server says it emitted (usage), `n_at_once` the most requests that
    were on their way at the same time.
    """

    start_ns: int
    dur_ns: int
    n_requests: int | None
    n_tokens: int | None
    n_at_once: int | None = None


class Load(Protocol):
    """A load that can run again and again, the same each time."""

    def run(self, window: LoadWindow, stop: threading.Event) -> LoadSummary:
        """Runs the load whole; ends at once, with nothing left behind, when `stop` is set.

        An exception that a signal handler raises in the calling thread, such as
        KeyboardInterrupt, ends it the same way. What had been recorded by then is in the folder.

        Raises:
            CaptureError: a request or the command failed, or `stop` was set.
        """
        ...

    def describe(self) -> dict[str, object]:
        """What it is, for run.json."""
        ...

    def stream_tokens(self, concurrency: int) -> int | None:
        """Most tokens that one of the streams generates in a window; None where nothing tells."""
        ...


def max_steps(load: Load, steps: int, concurrencies: Iterable[int]) -> int:
    """Where the profiler ends by itself: a bound, or what keeps the trace of a long load small.

    A load of at most `steps` tokens per stream is profiled whole, with room for its prefills; of
    any other the first steps are taken.
    """
    most = 0
    for concurrency in concurrencies:
        tokens = load.stream_tokens(concurrency)
        if tokens is None or tokens > steps:
            return steps
        most = max(most, concurrency)
    return 2 * steps + 8 * most


def apart(work: Callable[[IsStopped], T], stop: threading.Event) -> T:
    """Result of `work`, done in a thread of its own, which no signal handler interrupts.

    `work` is told to end by `stop`, or by an exception that a handler raises in the calling
    thread; either way it has ended when this returns.
    """
    interrupted = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(work, lambda: stop.is_set() or interrupted.is_set()).result()
        finally:
            interrupted.set()
