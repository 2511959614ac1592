"""The numbers of a report: rows of queries, each asked once and remembered for its header."""

from types import SimpleNamespace
from typing import TYPE_CHECKING

from tracekit import queries
from tracekit.cli.table import shorten
from tracekit.queries.header import Value
from tracekit.report.document import Asked

if TYPE_CHECKING:
    from tracekit.database import Database

MOST = 80
"""Letters of a parameter that a report shows: rows of another query may be one."""

Key = tuple[str, tuple[tuple[str, str], ...]]


class Measured:
    """Rows of reports by name and parameters; `asked` has what was asked so far, in order."""

    def __init__(self, database: "Database") -> None:
        self._database = database
        self._rows: dict[Key, list[SimpleNamespace]] = {}
        self.asked: dict[Key, Asked] = {}

    def ask(self, name: str, /, **params: Value) -> list[SimpleNamespace]:
        """Rows of the report `name`."""
        values = tuple((key, str(value)) for key, value in params.items())
        key = (name, values)
        if key not in self._rows:
            self._rows[key] = self._database.report(name, **params).records()
            shown = tuple((name, shorten(value, MOST)) for name, value in values)
            self.asked[key] = Asked(queries.load(name), shown)
        return self._rows[key]
