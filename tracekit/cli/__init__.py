"""The tracekit command: one file per verb."""

import io
import sys

import click

from tracekit import __version__
from tracekit.cli import breakdown, ingest, kernels, runs, schema, spec, sql, steps
from tracekit.errors import TracekitError

VERBS = (ingest, runs, steps, breakdown, kernels, spec, sql, schema)
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


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Where the time of a decode step goes: profiler traces in, exact numbers out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not know a name's characters
            stream.reconfigure(errors="backslashreplace")


for verb in VERBS:
    main.add_command(verb.command)
