"""SQL of the Kineto reader: one statement, or one script, per file of the folder `sql`."""

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> str:
    """Text of `sql/NAME.sql`."""
    return files("tracekit.readers").joinpath("sql", f"{name}.sql").read_text("utf-8")
