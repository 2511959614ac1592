"""Charts of rows: as wide as their place, as high as they have rows."""

import altair as alt

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""With a height that is a number: of `alt.Step`, Vega-Lite warns that it cannot be fitted."""
