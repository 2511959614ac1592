"""Ctrl-C and SIGTERM while something is running that has to be ended first."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tracekit.errors import CaptureError

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(CaptureError):
    """A signal ended the capture; the exit code is that of a program the signal ended."""

    def __init__(self, message: str, number: int) -> None:
        """`number` is the signal's."""
        super().__init__(message)
        self.exit_code = 128 + number


class Signals:
    """The first signal raises KeyboardInterrupt; those that follow only make the end quicker."""

    def __init__(self, verb: str = "capture") -> None:
        """Nothing received, nothing installed yet; `verb` is what is running."""
        self._verb = verb
        self.received: list[int] = []
        self._deferring = 0
        self._is_raised = False

    @property
    def is_urgent(self) -> bool:
        """Whether a second signal came: nothing is waited for any more."""
        return len(self.received) > 1

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Receive signals; a KeyboardInterrupt that comes of one leaves as Interrupted."""
        before = {number: signal.signal(number, self._receive) for number in ENDING}
        try:
            yield
        except KeyboardInterrupt as interrupt:
            raise self._interrupted() from interrupt
        finally:
            for number, handler in before.items():  # of more to come each would tear the exit
                signal.signal(number, signal.SIG_IGN if self.received else handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Hold the interrupt back to the end of the body, which must not be left half done."""
        self._deferring += 1
        try:
            yield
        finally:
            self._deferring -= 1
        self._raise_pending()

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Within `deferred`: let the interrupt come in the body."""
        self._deferring -= 1
        try:
            self._raise_pending()
            yield
        finally:
            self._deferring += 1

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received.append(number)
        self._raise_pending()

    def _raise_pending(self) -> None:
        if self.received and not self._deferring and not self._is_raised:
            self._is_raised = True
            raise KeyboardInterrupt

    def _interrupted(self) -> Interrupted:
        number = self.received[0] if self.received else signal.SIGINT
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        return Interrupted(f"{self._verb}: stopped by {name}; {self._verb} again", number)
