"""SQL of the readers: one statement, or one script, per file of a folder `sql`."""

from functools import cache
from importlib.resources import files


@cache
def statement(name: str, reader: str = "") -> str:
    """Text of `READER/sql/NAME.sql`; without a reader, the Kineto reader's `sql/NAME.sql`."""
    return files("tracekit.readers").joinpath(reader, "sql", f"{name}.sql").read_text("utf-8")
