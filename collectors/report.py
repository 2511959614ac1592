"""How a capture tells what it is doing; the command line shows it, a test keeps it."""

from dataclasses import dataclass, field
from typing import Protocol

from tracekit.collectors.secrets import Known, redacted_text


class Report(Protocol):
    """Where progress goes."""

    def stage(self, text: str) -> None:
        """What is being done from now on, and what is waited for."""
        ...

    def detail(self, text: str) -> None:
        """How far that is: a moment's news, such as the last line of the server's log."""
        ...

    def note(self, text: str) -> None:
        """A line that stays: what a user has to know."""
        ...


@dataclass(frozen=True, slots=True)
class RedactedReport:
    """Another report, which no secret reaches."""

    report: Report
    known: Known = field(repr=False)

    def stage(self, text: str) -> None:
        """See `Report`."""
        self.report.stage(redacted_text(text, self.known))

    def detail(self, text: str) -> None:
        """See `Report`."""
        self.report.detail(redacted_text(text, self.known))

    def note(self, text: str) -> None:
        """See `Report`."""
        self.report.note(redacted_text(text, self.known))
