"""NCCL's choices (`nccl_tuning`) and the table of its model (`nccl_model`).

The table comes in blocks of three algorithms, each with a head of three lines: a row is read only
under a head that is whole, once per collective.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from tracekit.readers.nccl_log.facts import Fact, Row, content_of
from tracekit.readers.nccl_log.formats import ALGORITHMS, PROTOCOLS, TABLE_ALGORITHMS, category
from tracekit.readers.nccl_log.text import Header
from tracekit.readers.nccl_log.trust import Process, begins
from tracekit.readers.rows import Value

Key = tuple[Process, int]
"""A thread of a process."""


def choice_row(header: Header, form: str, found: re.Match[str]) -> Row:
    """Row of `nccl_tuning`, without run and file, for a line of the form of that name."""
    said = found.groupdict()
    row: Row = {
        "at_byte": header.at_byte,
        "host": header.host,
        "pid": header.pid,
        "tid": header.tid,
        "category": category(said["coll"]) if said["coll"] else None,
        "bytes": int(said["bytes"]),
        "algorithm": None,
        "protocol": None,
        "n_channels": None,
        "kernel": said.get("kernel"),
        "n_threads": None,
        "model_ns": None,
    }
    return row | _CHOICES[form](said)


def _new(said: dict[str, str]) -> Row:
    return {
        "algorithm": None if said["algo"] == "Unknown" else said["algo"],
        "protocol": None if said["proto"] == "Unknown" else said["proto"],
        "n_channels": int(said["hi"]) - int(said["lo"]) + 1,
    }


def _old(said: dict[str, str]) -> Row:
    whole, fraction = said["us"].split(".")
    ns = int(whole) * 1000 + round(int(fraction) / 1000)
    return {
        "algorithm": _name(ALGORITHMS, int(said["algo"])),
        "protocol": _name(PROTOCOLS, int(said["proto"])),
        "model_ns": None if whole.startswith("-") else ns,
    }


def _symmetric(said: dict[str, str]) -> Row:
    return {"n_channels": int(said["channels"]), "n_threads": int(said["threads"])}


def _copy(_: dict[str, str]) -> Row:
    return {}


_CHOICES = {
    "choice": _new,
    "choice_old": _old,
    "choice_symmetric": _symmetric,
    "choice_copy": _copy,
}


def _name(names: tuple[str, ...], code: int) -> str | None:
    return names[code] if 0 <= code < len(names) else None


Content = tuple[Value, ...]
"""What a choice says, without where."""

_LAST = {"choice_symmetric": ("kernel", "n_threads"), "choice_copy": ("category", "kernel")}
"""Forms whose end could be cut unseen: their last word, and what decides it."""


class Choices:
    """Collects choices; `rows` is to be taken out now and then, a log may be full of them."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._doubtful: list[Row] = []
        self._said: Counter[Content] = Counter()
        self._last: Counter[tuple[str, Value, Value]] = Counter()

    def add(self, row: Row, form: str, *, is_doubtful: bool) -> None:
        """Take a row of `choice_row`."""
        self._said[content_of(row)] += 1
        (self._doubtful if is_doubtful else self.rows).append(row)
        if form in _LAST:
            of, word = _LAST[form]
            self._last[form, row[of], row[word]] += 1

    def confirmed(self, least: int) -> list[Row]:
        """Rows in doubt that were said `least` times."""
        return [row for row in self._doubtful if self._said[content_of(row)] >= least]

    def cut(self) -> list[Row]:
        """Columns of choices whose last word was cut: a longer one begins with it."""
        return [
            {"category": None, "kernel": None, "n_threads": None}
            | dict(zip(_LAST[form], said, strict=True))
            for form, *said in self._last
            for other, of, word in self._last
            if (form, said[0]) == (other, of)
            and begins(str(said[1]), str(word))
            and self._last[form, said[0], said[1]] <= self._last[other, of, word]
        ]


@dataclass(slots=True)
class _Block:
    algorithms: list[str | None]
    protocols: list[str] | None = None
    threads: list[int] | None = None
    seen: set[str] = field(default_factory=set)


class ModelTables:
    """Collects the rows of one file; a thread's lines belong together."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.n_refused = 0
        self._blocks: dict[Key, _Block] = {}

    def head(self, header: Header, found: re.Match[str]) -> None:
        """Begin a block: the names of its algorithms."""
        names = [cell.strip() for cell in found["cells"].split("|")[:-1]]
        algorithms = [TABLE_ALGORITHMS.get(name) for name in names]
        self._blocks[header.process, header.tid] = _Block(algorithms)

    def protocols(self, header: Header, found: re.Match[str]) -> None:
        """Take the protocols, three for each algorithm."""
        block = self._block(header)
        if block is not None:
            names = [cell.strip().upper() for cell in found["cells"].split("|")[:-1]]
            self._keep(header, len(names) == 3 * len(block.algorithms) and not block.protocols)
            block.protocols = names

    def threads(self, header: Header, found: re.Match[str]) -> None:
        """Take the most threads of a block, by algorithm and protocol."""
        block = self._block(header)
        if block is not None:
            counts = [int(cell) for cell in found["cells"].split("|")[:-1]]
            self._keep(header, len(counts) == 3 * len(block.algorithms) and not block.threads)
            block.threads = counts

    def row(self, header: Header, found: re.Match[str], *, is_doubtful: bool) -> None:
        """Take the latencies and bandwidths of one collective."""
        block = self._block(header)
        cells = [cell.split("/") for cell in found["cells"].split("|")[:-1]]
        is_whole = block is not None and len(cells) == len(block.protocols or ())
        if block is None or not is_whole or not block.threads or found["coll"] in block.seen:
            self.n_refused += 1
            self.lost(header)
            return
        block.seen.add(found["coll"])
        for i, (latency, bandwidth) in enumerate(cells):
            algorithm, protocol = block.algorithms[i // 3], (block.protocols or [])[i]
            if algorithm is not None:
                row = _model_row(header, found["coll"], algorithm, protocol, block.threads[i])
                row |= {
                    "latency_ns": round(float(latency) * 1000),
                    "algbw_gb_per_s": float(bandwidth),
                }
                self.facts.append(Fact(row, is_doubtful))

    def lost(self, header: Header) -> None:
        """A line of the thread's table is torn: what follows belongs to no head."""
        self._blocks.pop((header.process, header.tid), None)

    def _block(self, header: Header) -> _Block | None:
        return self._blocks.get((header.process, header.tid))

    def _keep(self, header: Header, is_right: bool) -> None:
        if not is_right:
            self.lost(header)


def _model_row(header: Header, collective: str, algorithm: str, protocol: str, threads: int) -> Row:
    return {
        "at_byte": header.at_byte,
        "host": header.host,
        "pid": header.pid,
        "category": category(collective),
        "algorithm": algorithm,
        "protocol": protocol,
        "max_threads": threads,
    }
