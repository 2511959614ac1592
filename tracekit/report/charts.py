"""Charts as shapes on a canvas: what is where, for a template to draw as SVG.

The only arithmetic is from a number's unit to the canvas's.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH = 760
LABELS = 170
"""Room left of the bars."""
LABEL_LETTER = 7.4
"""Width of a letter of a label on average: names in DejaVu Sans, wider than most, had 7.3."""
MARGIN = 60
"""Room right of them, for the unit."""
BAR = 20
ROW = 30
TOP = 8
HEIGHT = 170
"""Of a histogram's bars."""
LETTER = 6.6
"""Width of a letter at most, on the canvas."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar: from where to where on the axis; `style` names its colour."""

    start: float
    end: float
    style: str
    title: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: pieces beside each other, and an interval drawn over them."""

    label: str
    parts: tuple[Part, ...]
    interval: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rect:
    """A filled rectangle on the canvas."""

    x: float
    y: float
    width: float
    height: float
    style: str
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line on the canvas."""

    x1: float
    y1: float
    x2: float
    y2: float
    style: str


@dataclass(frozen=True, slots=True)
class Text:
    """Words on the canvas; `anchor` is the side they are set from: start, middle or end."""

    x: float
    y: float
    anchor: str
    style: str
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing, what it shows in one sentence, and its legend (colour and words)."""

    title: str
    alt: str
    height: float
    shapes: tuple[Rect, ...]
    lines: tuple[Line, ...]
    texts: tuple[Text, ...]
    legend: tuple[tuple[str, str], ...] = ()


def bars(
    title: str, alt: str, rows: Sequence[Bar], unit: str, legend: Iterable[tuple[str, str]] = ()
) -> Chart:
    """Horizontal bars on one axis."""
    ends = [part.end for row in rows for part in row.parts]
    ticks = _ticks(0.0, max([0.0, *ends, *(row.interval[1] for row in rows if row.interval)]))
    bottom = TOP + ROW * len(rows)
    notes = max(len(row.note) for row in rows) * LETTER
    scale = (WIDTH - LABELS - max(notes + 8, MARGIN)) / ticks[-1]
    shapes, lines, texts = [], [], []
    for tick in ticks:
        x = LABELS + tick * scale
        lines.append(Line(x, TOP, x, bottom, "grid"))
        texts.append(Text(x, bottom + 16, "middle", "axis", f"{tick:g}"))
    texts.append(Text(LABELS + ticks[-1] * scale + 14, bottom + 16, "start", "axis", unit))
    for i, row in enumerate(rows):
        drawn = _bar(row, TOP + ROW * i, scale)
        shapes += drawn[0]
        lines += drawn[1]
        texts += drawn[2]
    drawing = (tuple(shapes), tuple(lines), tuple(texts))
    return Chart(title, alt, bottom + 24, *drawing, tuple(legend))


def _bar(row: Bar, y: float, scale: float) -> tuple[list[Rect], list[Line], list[Text]]:
    middle = y + ROW / 2
    texts = [Text(LABELS - 8, middle + 4, "end", "label", _fit(row.label, LABELS - 8))]
    shapes, lines, end = [], [], float(LABELS)
    for part in row.parts:
        x, width = LABELS + part.start * scale, (part.end - part.start) * scale
        shapes.append(
            Rect(x, y + (ROW - BAR) / 2, max(width - 1, 0.5), BAR, part.style, part.title)
        )
        if part.label and len(part.label) * LETTER < width - 4:
            texts.append(Text(x + width / 2, middle + 4, "middle", f"on {part.style}", part.label))
        end = max(end, x + width)
    if row.interval:
        low, high = (LABELS + value * scale for value in row.interval)
        lines += [Line(low, middle, high, middle, "interval")]
        lines += [Line(x, middle - 5, x, middle + 5, "interval") for x in (low, high)]
        end = max(end, high)
    texts.append(Text(end + 6, middle + 4, "start", "note", row.note))
    return shapes, lines, texts


def histogram(
    title: str,
    alt: str,
    spans: Sequence[tuple[float, float, int, str]],
    marks: Sequence[tuple[float, str]],
    unit: str,
) -> Chart:
    """Upright bars: from where to where, how many, and words for each; marks are named lines."""
    low, high = spans[0][0], spans[-1][1]
    scale, most = (WIDTH - LABELS / 2 - MARGIN) / (high - low), max(n for _, _, n, _ in spans)
    bottom, left = 2 * ROW + HEIGHT, LABELS / 2
    shapes, lines, texts = [], [], []
    for start, end, n, words in spans:
        height = HEIGHT * n / most
        x, width = left + (start - low) * scale, (end - start) * scale
        shapes.append(Rect(x, bottom - height, max(width - 1, 0.5), height, "step", words))
    for count in _ticks(0, most, whole=True):
        y = bottom - HEIGHT * count / most
        lines.append(Line(left, y, WIDTH - MARGIN, y, "grid"))
        texts.append(Text(left - 8, y + 4, "end", "axis", f"{count:g}"))
    for tick in _ticks(low, high):
        if low <= tick <= high:
            x = left + (tick - low) * scale
            texts.append(Text(x, bottom + 16, "middle", "axis", f"{tick:g}"))
    texts.append(Text(WIDTH - 46, bottom + 16, "start", "axis", unit))
    for i, (value, words) in enumerate(marks):
        x = left + (min(value, high) - low) * scale
        lines.append(Line(x, 22 + 14 * i, x, bottom, "mark"))
        texts.append(Text(x, 18 + 14 * i, "middle", "note", words))
    return Chart(title, alt, bottom + 24, tuple(shapes), tuple(lines), tuple(texts))


def _ticks(low: float, high: float, whole: bool = False) -> list[float]:
    """Round numbers about the span, 4 to 8 of them, the last at its end or beyond."""
    raw = ((high - low) or 1.0) / 4
    power: float = 10 ** math.floor(math.log10(raw))
    step = power * max(n for n in (1, 2, 5) if n * power <= raw * (1 + 1e-9))
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [round(n * step, 9) for n in range(first, max(last, first + 1) + 1)]


def _fit(text: str, width: float) -> str:
    room = int(width / LABEL_LETTER)
    return text if len(text) <= room else text[: room - 1] + "…"
