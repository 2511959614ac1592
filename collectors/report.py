"""How a capture tells what it is doing; the command line shows it, a test keeps it."""

from typing import Protocol


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
