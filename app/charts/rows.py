"""Charts of rows: as wide as their place, as high as they have rows; and the rows themselves."""

import altair as alt
import pandas as pd

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""With a height that is a number: of `alt.Step`, Vega-Lite warns that it cannot be fitted."""


def labels(width: int, text: str = "datum.label") -> alt.Axis:
    """Names beside the rows, of at most that many pixels: each has its own, in its middle."""
    return alt.Axis(
        labelExpr=text, labelLimit=width, labelOverlap=False, labelFlush=False, ticks=False
    )


def packed(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with each text once: of a column of words, a browser decodes every cell anew."""
    texts = frame.select_dtypes(["object", "string"]).columns
    return frame.astype(dict.fromkeys(texts, "category"))
