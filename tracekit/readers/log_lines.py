"""Lines of a server's log, and those of them that are cut or garbled."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_LINE_BYTES = 64 * 1024
"""A longer line is read in parts of this size; lines that are looked for have some 300 bytes."""

_PROCESS = re.compile(rb"\(EngineCore_DP(\d{1,5})\b")


@dataclass(slots=True)
class Bad:
    """Lines that could not be understood: how many, and the first of them."""

    count: int = 0
    example: str = ""

    def add(self, line_at: int, line: bytes) -> None:
        """Count one that begins at byte `line_at`."""
        self.count += 1
        self.example = self.example or f"byte {line_at}: {line.decode(errors='replace').strip()}"


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines of a file, each with the byte it begins at."""
    line_at = 0
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES):
            yield line_at, line
            line_at += len(line)


def engine_before(line: bytes, end: int) -> int:
    """Data-parallel engine of the vLLM process named last before byte `end`; 0 where none is."""
    processes = _PROCESS.findall(line, 0, end)
    return int(processes[-1]) if processes else 0
