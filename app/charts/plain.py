"""A chart of any two columns of a table."""

from typing import Literal

import altair as alt
import pandas as pd

Mark = Literal["bar", "line", "point"]
MARKS: tuple[Mark, ...] = ("bar", "line", "point")


def plain(frame: pd.DataFrame, x: str, y: str, color: str | None, mark: Mark) -> alt.Chart:
    """`y` over `x`; where bars share a place they are stacked."""
    # Columns get names of our own: Vega reads dots and brackets in a name as a path.
    used = [name for name in dict.fromkeys((x, y, color)) if name is not None]
    own = {name: f"c{place}" for place, name in enumerate(used)}
    chart = alt.Chart(frame[used].rename(columns=own), description=f"{y} over {x}")
    marked = {"bar": chart.mark_bar, "line": chart.mark_line, "point": chart.mark_point}[mark]()
    placed: alt.Chart = marked.encode(alt.X(own[x], title=x, sort=None), alt.Y(own[y], title=y))
    if color is not None:
        placed = placed.encode(alt.Color(own[color], title=color, type="nominal"))
    return placed
