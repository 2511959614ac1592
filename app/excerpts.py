"""The result of a user's query as a frame."""

import pandas as pd

from tracekit.sandbox import Excerpt

WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
REAL = {"FLOAT", "DOUBLE"}


def frame(excerpt: Excerpt) -> pd.DataFrame:
    """The rows; columns of one name are told apart, numbers no other type holds are texts."""
    names = unique(excerpt.columns)
    cells = {
        place: _column([row[place] for row in excerpt.rows], kind)
        for place, kind in enumerate(excerpt.types)
    }
    return pd.DataFrame(cells).set_axis(names, axis=1)


def numbers(made: pd.DataFrame) -> list[str]:
    """Names of the columns that can be a height in a chart."""
    return [
        name
        for name in made
        if pd.api.types.is_numeric_dtype(made[name]) and not pd.api.types.is_bool_dtype(made[name])
    ]


def unique(names: list[str]) -> list[str]:
    """The names, `x`, `x 2` where one comes again."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return made


def _column(values: list[object], kind: str) -> pd.Series:
    if kind in WHOLE:
        return pd.Series(values, dtype="Int64")
    if kind in REAL or kind.startswith("DECIMAL"):
        reals = [None if value is None else float(str(value)) for value in values]
        return pd.Series(reals, dtype="float64")
    if kind == "BOOLEAN":
        return pd.Series(values, dtype="boolean")
    return pd.Series([None if value is None else str(value) for value in values], dtype="object")
