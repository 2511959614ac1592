"""Scales a Kineto trace to N MB by repeating its events, later and with ids of their own.

Usage: python benchmarks/scale.py TRACE OUT --mb N    (OUT ending in .gz is compressed)

Works on the text, so every event keeps its spelling. Memory grows with the trace, not with N.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from io import BufferedIOBase
from pathlib import Path
from typing import Any

MB = 1_000_000
EVENTS = re.compile(r'\A\s*\[|"traceEvents"\s*:\s*\[')
GAP = re.compile(r"[\s,]*")
SEPARATOR = ",\n  "
BLOCK_CHARACTERS = 1 << 20
# Quotes within a JSON string are escaped, so these cannot occur in one. An id of 0 means none.
SHIFTED = re.compile(
    r'("ts"\s*:\s*)(-?\d[\d.eE+-]*)|("(?:correlation|external id|id)"\s*:\s*)([1-9]\d*)',
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Template:
    """A trace taken apart: `opening`, events of each copy in `blocks`, `closing`.

    The opening ends with the metadata events, which stand once. A copy adds `copy_us` to the
    times and `copy_ids` to the ids of the one before.
    """

    opening: str
    blocks: list[str]
    closing: str
    events_once: int
    events_per_copy: int
    copy_us: int
    copy_ids: int


@dataclass(frozen=True, slots=True)
class Scaled:
    """What was written; `plain_bytes` are those before compression."""

    plain_bytes: int
    events: int
    copies: int


class Extent:
    """Times and ids that the events of a trace use."""

    def __init__(self) -> None:
        self.start, self.end, self.max_id = Decimal("Infinity"), Decimal("-Infinity"), 0

    def add(self, event: dict[str, Any]) -> None:
        """Widen to one event."""
        start = event.get("ts")
        if isinstance(start, int | Decimal):
            self.start = min(self.start, Decimal(start))
            self.end = max(self.end, start + Decimal(event.get("dur", 0)))
        for name, value in [*event.items(), *event.get("args", {}).items()]:
            if isinstance(value, int) and name.lower() in ("correlation", "external id", "id"):
                self.max_id = max(self.max_id, value)

    def whole_us(self) -> int:
        """Length in microseconds, rounded up, and one more: copies must not touch."""
        return math.ceil(self.end - self.start) + 1 if self.end >= self.start else 0


def decoded_events(text: str, position: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Start, end and value of each event of the array whose elements begin at `position`."""
    decoder = json.JSONDecoder(strict=False, parse_float=Decimal)
    while text[position := skip(text, position)] != "]":
        event, end = decoder.raw_decode(text, position)
        yield position, end, event
        position = end


def skip(text: str, position: int) -> int:
    """Where the next element of an array, or its end, is."""
    gap = GAP.match(text, position)
    return gap.end() if gap else position


def read_template(path: Path) -> Template:
    """Take a trace apart; raises ValueError where it has no events to repeat."""
    text = text_of(path)
    array = EVENTS.search(text)
    if array is None:
        raise ValueError(f"{path}: no traceEvents; give a trace of torch.profiler")
    once: list[str] = []
    repeated: list[str] = []
    extent, end = Extent(), array.end()
    for start, end, event in decoded_events(text, array.end()):
        if event.get("ph") == "M":
            once.append(text[start:end])
        else:
            repeated.append(text[start:end])
            extent.add(event)
    if not repeated:
        raise ValueError(f"{path}: no events to repeat; give a trace with some")
    return Template(
        opening=text[: array.end()] + "\n  " + "".join(event + SEPARATOR for event in once),
        blocks=list(blocks_of(repeated)),
        closing=text[end:],
        events_once=len(once),
        events_per_copy=len(repeated),
        copy_us=extent.whole_us(),
        copy_ids=extent.max_id,
    )


def text_of(path: Path) -> str:
    """The plain text of a trace, bytes that are no UTF-8 escaped."""
    data = path.read_bytes()
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return plain.decode("utf-8", "surrogateescape")


def blocks_of(events: list[str]) -> Iterator[str]:
    """The events joined into texts of about a megabyte."""
    block: list[str] = []
    size = 0
    for event in events:
        block.append(event)
        size += len(event)
        if size >= BLOCK_CHARACTERS:
            yield SEPARATOR.join(block)
            block, size = [], 0
    if block:
        yield SEPARATOR.join(block)


def shifted(block: str, add_us: int, add_ids: int) -> str:
    """The block with its times and ids raised; digits after the point stay as they are."""

    def replaced(match: re.Match[str]) -> str:
        if match[1]:
            return f"{match[1]}{Decimal(match[2]) + add_us:f}"
        return f"{match[3]}{int(match[4]) + add_ids}"

    return SHIFTED.sub(replaced, block)


def opened(out: Path) -> BufferedIOBase:
    """The file to write, compressed where its name says so."""
    return gzip.open(out, "wb", compresslevel=6) if out.suffix == ".gz" else out.open("wb")


class CountingWriter:
    """Writes text, and counts its bytes before compression."""

    def __init__(self, file: BufferedIOBase) -> None:
        self.file, self.plain_bytes = file, 0

    def write(self, text: str) -> None:
        """Append the text."""
        data = text.encode("utf-8", "surrogateescape")
        self.file.write(data)
        self.plain_bytes += len(data)


def write_scaled(template: Template, out: Path, min_bytes: int) -> Scaled:
    """Write whole copies until the plain text has `min_bytes`; one at least."""
    with opened(out) as file:
        writer = CountingWriter(file)
        writer.write(template.opening)
        copies = 0
        while not copies or writer.plain_bytes < min_bytes:
            for number, block in enumerate(template.blocks):
                if copies or number:
                    writer.write(SEPARATOR)
                writer.write(shifted(block, copies * template.copy_us, copies * template.copy_ids))
            copies += 1
        writer.write(template.closing)
    events = template.events_once + copies * template.events_per_copy
    return Scaled(writer.plain_bytes, events, copies)


def main(arguments: list[str]) -> int:
    """Scale as the command line asks for and print what was written as JSON."""
    parser = argparse.ArgumentParser(description="Scale a Kineto trace to N MB.")
    parser.add_argument("trace", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--mb", type=float, required=True)
    options = parser.parse_args(arguments)
    try:
        template = read_template(options.trace)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(asdict(write_scaled(template, options.out, int(options.mb * MB)))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
