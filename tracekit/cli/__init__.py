"""The tracekit command: one file per verb."""

import errno
import io
import sys

import click

from tracekit import __version__
from tracekit.cli import (
    app,
    bench,
    breakdown,
    capture,
    check_draft,
    comms,
    compare,
    doctor,
    ingest,
    kernels,
    report,
    runs,
    schema,
    spec,
    sql,
    steps,
    whatif,
)
from tracekit.errors import TracekitError, is_interrupt

INTERRUPTED = 128 + 2
"""Exit code after Ctrl-C, as of a program that the signal ended."""

VERBS = (
    capture,
    ingest,
    runs,
    steps,
    breakdown,
    kernels,
    comms,
    spec,
    compare,
    whatif,
    report,
    app,
    check_draft,
    bench,
    sql,
    schema,
    doctor,
)
"""Modules of the verbs, in the order that help lists them."""


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

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


for verb in VERBS:
    main.add_command(verb.command)
