"""NCCL's choices (`nccl_tuning`) and the table of its model (`nccl_model`).

The table comes in blocks of three algorithms, each with a head of three lines: a row is read only
under a head that is whole, once per collective.
"""

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache

from tracekit.readers.nccl_log.facts import Row, said_row
from tracekit.readers.nccl_log.formats import ALGORITHMS, PROTOCOLS, TABLE_ALGORITHMS, category
from tracekit.readers.nccl_log.text import Header
from tracekit.readers.nccl_log.trust import Process

Key = tuple[Process, int]
"""A thread of a process."""


def choice_of(form: str, found: re.Match[str]) -> Row:
    """What a line of the form of that name chose, in columns of `nccl_tuning`."""
    said = found.groupdict()
    row: Row = {
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


LAST_WORDS = {"choice_symmetric": ("kernel", "n_threads"), "choice_copy": ("category", "kernel")}
"""Forms whose end could be cut unseen: what decides their last word, and that word."""


@dataclass(slots=True)
class _Block:
    algorithms: tuple[str | None, ...]
    protocols: tuple[str, ...] = ()
    threads: tuple[int, ...] = ()
    seen: set[str] = field(default_factory=set)


class ModelTables:
    """Adds the rows of one file's tables to what is `said`; a thread's lines belong together."""

    def __init__(self, said: list[Row]) -> None:
        self.n_refused = 0
        self._said = said
        self._blocks: dict[Key, _Block] = {}

    def head(self, header: Header, found: re.Match[str]) -> None:
        """Begin a block: the names of its algorithms."""
        algorithms = (TABLE_ALGORITHMS.get(name) for name in _names(found["cells"]))
        self._blocks[header.process, header.tid] = _Block(tuple(algorithms))

    def protocols(self, header: Header, found: re.Match[str]) -> None:
        """Take the protocols, three for each algorithm."""
        block = self._block(header)
        if block is not None:
            names = tuple(name.upper() for name in _names(found["cells"]))
            self._keep(header, len(names) == 3 * len(block.algorithms) and not block.protocols)
            block.protocols = names

    def threads(self, header: Header, found: re.Match[str]) -> None:
        """Take the most threads of a block, by algorithm and protocol."""
        block = self._block(header)
        if block is not None:
            counts = tuple(int(name) for name in _names(found["cells"]))
            self._keep(header, len(counts) == 3 * len(block.algorithms) and not block.threads)
            block.threads = counts

    def row(self, header: Header, found: re.Match[str], *, is_doubtful: bool) -> None:
        """Take the latencies and bandwidths of one collective."""
        block = self._block(header)
        is_whole = block is not None and found["cells"].count("|") == len(block.protocols)
        if block is None or not is_whole or not block.threads or found["coll"] in block.seen:
            self.n_refused += 1
            self.lost(header)
            return
        block.seen.add(found["coll"])
        text = _cells(
            *found.group("coll", "cells"), block.algorithms, block.protocols, block.threads
        )
        self._said.append(said_row(header, "model", text, is_doubtful=is_doubtful))

    def lost(self, header: Header) -> None:
        """A line of the thread's table is torn: what follows belongs to no head."""
        self._blocks.pop((header.process, header.tid), None)

    def _block(self, header: Header) -> _Block | None:
        return self._blocks.get((header.process, header.tid))

    def _keep(self, header: Header, is_right: bool) -> None:
        if not is_right:
            self.lost(header)


def _names(cells: str) -> list[str]:
    return [cell.strip() for cell in cells.split("|")[:-1]]


@lru_cache(maxsize=1024)
def _cells(
    collective: str,
    cells: str,
    algorithms: tuple[str | None, ...],
    protocols: tuple[str, ...],
    threads: tuple[int, ...],
) -> str:
    """Cells of a row of the table, in columns of `nccl_model`, as JSON: one text is one message."""
    pairs = [cell.split("/") for cell in _names(cells)]
    rows = [
        {
            "category": category(collective),
            "algorithm": algorithms[i // 3],
            "protocol": protocols[i],
            "latency_ns": round(float(latency) * 1000),
            "algbw_gb_per_s": float(bandwidth),
            "max_threads": threads[i],
        }
        for i, (latency, bandwidth) in enumerate(pairs)
    ]
    return json.dumps([row for row in rows if row["algorithm"] is not None])
