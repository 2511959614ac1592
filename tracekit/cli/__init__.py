"""The tracekit command: one file per verb."""

import errno
import io
import sys
from importlib import import_module

import click

from tracekit import __version__
from tracekit.errors import TracekitError, is_interrupt

INTERRUPTED = 128 + 2
"""Exit code after Ctrl-C, as of a program that the signal ended."""

VERBS = (
    "capture",
    "ingest",
    "runs",
    "steps",
    "breakdown",
    "kernels",
    "comms",
    "spec",
    "compare",
    "whatif",
    "report",
    "app",
    "check-draft",
    "bench",
    "sql",
    "schema",
    "doctor",
)
"""Names of the verbs, in the order that help lists them; each is the `command` of its module."""


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Load no other verb's module: all of them take half of the time of a start."""
        if name not in VERBS:
            return None
        module = import_module(f"tracekit.cli.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except TracekitError as error:
            click.echo(str(error), err=True)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, RuntimeError) as error:
            if not (isinstance(error, KeyboardInterrupt) or is_interrupt(error)):
                raise
            click.echo("Aborted!", err=True)
            ctx.exit(INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE or error.filename is not None:
                raise
            _leave_stdout()
            click.echo(f"stdout: cannot be written: {error.strerror}; make room", err=True)
            ctx.exit(1)


def _leave_stdout() -> None:
    """Give up what stdout still holds: Python would try to write it once more at the end."""
    sys.stdout = io.StringIO()


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Where the time of a decode step goes: profiler traces in, exact numbers out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not know a name's characters
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):  # what is no UTF-8 is refused with the query
        sys.stdin.reconfigure(errors="surrogateescape")
