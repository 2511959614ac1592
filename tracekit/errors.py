"""Everything tracekit raises on purpose.

TracekitError
    TraceFormatError     a trace that cannot be read: place is file and byte
    RunError             bad inputs: paths, ranks, names of runs
    StoreError           the database file: missing, locked, not a database
    SchemaVersionError   a database that another version of tracekit made
    QueryError           an unknown report, a wrong parameter, a mistake in a user's SQL
    TaxonomyError        a rule file that is malformed or contradicts itself
    ModelError           a model's folder, or a file in it, that is not what its name promises
    CaptureError         a server, load or profiler that did not do what a capture needs
    AppError             a dashboard that cannot be started
    GateError            a comparison that is worse than its gate allows; exit code 3

A message is one line, `place: what is wrong; what to do`, for example
`rank0.json.gz: byte 81233: the file ends inside an event; collect it again`.
Exit codes of the command: 0 ok, 1 (`TracekitError.exit_code`), 2 wrong usage (click's own),
130 Ctrl-C.
"""

_INTERRUPTS = ("Query interrupted", "INTERRUPT Error", "KeyboardInterrupt")


class TracekitError(Exception):
    """Base of all errors a user can cause; printed as one line, never with a traceback."""

    exit_code: int = 1

    def __str__(self) -> str:
        """Message with control characters escaped: names from traces may hold any character."""
        return "".join(map(_printable, super().__str__()))


class TraceFormatError(TracekitError):
    """A trace or metrics file is not what its kind promises."""


class RunError(TracekitError):
    """Paths, ranks or run names that do not make one run."""


class StoreError(TracekitError):
    """A database file that cannot be opened or published."""


class SchemaVersionError(StoreError):
    """A database made by another version of tracekit."""


class QueryError(TracekitError):
    """A report, parameter or SQL statement that cannot be run."""


class TaxonomyError(TracekitError):
    """A rule file that is malformed or contradicts itself."""


class ModelError(TracekitError):
    """A model's folder, or a file in it, that cannot be read."""


class CaptureError(TracekitError):
    """A capture that cannot start, or ended early; what was recorded stays in its run folder."""


class AppError(TracekitError):
    """A dashboard that cannot be started: no streamlit, or nowhere to listen."""


class GateError(TracekitError):
    """A gate that does not hold: what was measured is worse than it allows."""

    exit_code = 3


def is_interrupt(error: Exception) -> bool:
    """Whether Ctrl-C is behind an error: DuckDB tells of it by errors of its own."""
    lines = map(str.strip, Exception.__str__(error).splitlines())
    return any(line.startswith(_INTERRUPTS) for line in lines)


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
