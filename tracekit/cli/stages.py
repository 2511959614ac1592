"""Progress of long work on stderr: a line that changes on a terminal, in a pipe one for each."""

import sys
from typing import TYPE_CHECKING

import click

from tracekit.cli import output, table

if TYPE_CHECKING:
    from rich.progress import Progress


class Stages:
    """What is being done and for how long, with the latest news of it."""

    def __init__(self) -> None:
        """Nothing is shown until there is a stage."""
        self._bars: Progress | None = None

    def stage(self, text: str) -> None:
        """What is being done from now on; on a terminal what was done stays, with its time."""
        if sys.stderr.isatty():
            self.close()
            self._bars = _bars()
            self._bars.start()
            self._bars.add_task(table.visible(text), total=None, detail="")
        else:
            output.note(text)

    def detail(self, text: str) -> None:
        """News of the stage; only the latest is seen."""
        if self._bars is not None:
            self._bars.update(self._bars.task_ids[0], detail=table.visible(text))

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._bars is not None:
            self._bars.console.print(
                table.visible(text), markup=False, highlight=False, soft_wrap=True
            )
        else:
            output.note(text)

    def close(self) -> None:
        """End the line that changes, and leave the stage and its time."""
        if self._bars is None:
            return
        (task,) = self._bars.tasks
        self._bars.stop()
        self._bars = None
        click.echo(f"{task.description}: {task.elapsed or 0:.0f} s", err=True)


def _bars() -> "Progress":
    from rich import progress
    from rich.console import Console
    from rich.table import Column

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.TimeElapsedColumn(),
        progress.TextColumn(
            "{task.fields[detail]}",
            markup=False,
            style="dim",
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
        ),
        console=Console(stderr=True),
        transient=True,
        expand=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
