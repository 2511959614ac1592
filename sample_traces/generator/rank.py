"""One rank: its host clock, its streams, the trace events it writes and their truth."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import NamedTuple

from generator.kernels import COPY, Work

MAIN_THREAD = 4101
BASE_NS = 1_793_000_000_000_000_000
"""Moments of the ranks count from here; their files may have another base time."""


class Call(NamedTuple):
    """One call of a collective: its number in the run, and how many ranks make it."""

    number: int
    n_ranks: int


class Row(NamedTuple):
    """Truth about one activity; `step` is None where it belongs to none.

    `start_ns` is by the GPU's own clock; `graph` is 0 outside of replays.
    """

    stream: int
    start_ns: int
    dur_ns: int
    name: str
    correlation: int
    category: str
    impl: str
    step: int | None
    phase: str
    phase_source: str
    link: str
    is_kernel: bool
    item: Work
    graph: int
    call: Call | None
    is_shape_recorded: bool


@dataclass(slots=True)
class Step:
    """What the annotation and the host say about one step; None where they say nothing."""

    kind: str
    n_prefill_reqs: int | None = None
    n_prefill_tokens: int | None = None
    n_decode_reqs: int | None = None
    n_decode_tokens: int | None = None
    is_verify: bool = False
    n_draft_tokens: int | None = 0
    is_empty: bool = False
    is_cut: bool = False
    host_start_ns: int = 0
    host_end_ns: int = 0
    host_phases: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Scope:
    """An open annotation and the device time under it, per stream."""

    name: str
    thread: int
    start_ns: int
    external_id: int
    spans: dict[int, list[int]] = field(default_factory=dict)


@dataclass(slots=True)
class Label:
    """Truth given to what is emitted from now on."""

    step: int | None = None
    phase: str = "other"
    source: str = "none"


def us(ns: int) -> str:
    """Nanoseconds as microseconds with exactly three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}"


class Rank:
    """Host and device of one rank, and everything written about them."""

    def __init__(self, dp: int, rank: int, device: int, base_ns: int, seed: str) -> None:
        self.dp, self.rank, self.device, self.base_ns = dp, rank, device, base_ns
        self.random = random.Random(seed).random
        self.pid = 4101 + device
        self.host_name = "synthetic-host"
        self.now = 1_037_000_000_000_000 + device * 7919
        self.bias, self.speed = 1.0, 1.0
        self.clock_ns = self.gpu_clock_ns = 0
        self.free: dict[int, int] = {}
        self.correlation, self.external_id = 1000 * (device + 1), 1
        self.is_recording = self.is_closed = False
        self.host: list[str] = []
        self.device_events: list[str] = []
        self.rows: list[Row] = []
        self.enqueued: list[tuple[int, Work]] = []
        self.steps: dict[int, Step] = {}
        self.scopes: list[Scope] = []
        self.label = Label()
        self.window_start = self.window_end = 0
        self.has_graph_ids = self.has_ops = True
        self._texts: dict[tuple[int, int], tuple[str, str, str]] = {}
        self._pinned: list[Work] = []

    def ts(self, ns: int) -> str:
        """A moment as the rank's file writes it, relative to its base time."""
        return us(self.epoch(ns) - self.base_ns)

    def epoch(self, ns: int) -> int:
        """A moment as ns since the epoch, by the clock of the rank's host."""
        return BASE_NS + self.clock_ns + ns

    def write(self, text: str) -> None:
        """Add a host event, unless the profiler is not running yet."""
        if self.is_recording:
            self.host.append(text)

    def span(
        self, cat: str, name: str, start: int, dur: int, args: str, thread: int = MAIN_THREAD
    ) -> None:
        """Write a complete event of the host."""
        self.write(
            f'{{"ph": "X", "cat": "{cat}", "name": {json.dumps(name)}, "pid": {self.pid}, '
            f'"tid": {thread}, "ts": {self.ts(start)}, "dur": {us(dur)}, "args": {{{args}}}}}'
        )

    def next_external(self) -> int:
        """A fresh External id."""
        self.external_id += 1
        return self.external_id

    def open_scope(self, name: str, thread: int = MAIN_THREAD) -> Scope:
        """Open an annotation on a thread."""
        self.now += 1500 + int(1000 * self.random())
        scope = Scope(name, thread, self.now, self.next_external())
        self.scopes.append(scope)
        self.now += 1200
        return scope

    def close_scope(self, scope: Scope) -> None:
        """Close an annotation and write it, with its spans over the device."""
        self.scopes.remove(scope)
        self.now += 2500
        args = f'"External id": {scope.external_id}, "Record function id": 0, "Ev Idx": 0'
        start = scope.start_ns
        self.span("user_annotation", scope.name, start, self.now - start, args, scope.thread)
        self.now += 800
        for stream, (first, last) in scope.spans.items():
            self.write(
                f'{{"ph": "X", "cat": "gpu_user_annotation", "name": {json.dumps(scope.name)}, '
                f'"pid": {self.device}, "tid": {stream}, "ts": {self.ts(first)}, '
                f'"dur": {us(last - first)}, "args": {{"External id": {scope.external_id}}}}}'
            )

    def call(
        self,
        name: str,
        op: str | None,
        dur: int,
        thread: int = MAIN_THREAD,
        hide: bool = False,
        told: str = "",
    ) -> tuple[int, int]:
        """Launch from the host: (start of the call, External id or 0).

        `hide` leaves it out; `told` is JSON text that the operator's args get on top.
        """
        self.correlation += 1 + int(12 * self.random())
        dur += int(dur * 0.4 * self.random())
        start = self.now + 2600 + int(2500 * self.random())
        op = op if self.has_ops else None
        external = self.next_external() if op else 0
        if op:
            op_args = f'"External id": {external}, "Record function id": 0, "Ev Idx": {external}'
            op_args += told
            self.span("cpu_op", op, start - 2100, dur + 4000, op_args, thread)
        if not hide:
            cat = "cuda_driver" if name.startswith("cuLaunch") else "cuda_runtime"
            prefix = f'"External id": {external}, ' if op else ""
            args = f'{prefix}"cbid": 211, "correlation": {self.correlation}'
            self.span(cat, name, start, dur, args, thread)
            self.write(
                f'{{"ph": "s", "id": {self.correlation}, "pid": {self.pid}, "tid": {thread}, '
                f'"ts": {self.ts(start)}, "cat": "ac2g", "name": "ac2g"}}'
            )
        self.now = start + dur + 2400
        return start, external

    def start_of(self, item: Work, ready: int) -> int:
        """When the item can start on the device, the launch being there at `ready`."""
        free = self.free.get(item.stream, 0)
        gap = 300 + int(350 * self.random())
        start = free - gap if item.early else free + gap
        if item.joins is not None:
            start = max(start, self.free.get(item.joins, 0) + gap)
        return max(start, ready)

    def put(
        self,
        item: Work,
        start: int,
        end: int,
        external: int,
        graph: int,
        node: int,
        link: str,
        call: Call | None,
    ) -> None:
        """Record one activity: its event and its truth. Start and end are true times."""
        self.free[item.stream] = end
        if self.is_closed:
            return
        key = (graph, node) if graph else (0, id(item))
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = self._text(item, graph, node)
            self._pinned.append(item)
        head, middle, tail = text
        dur, start = end - start, start + self.gpu_clock_ns
        args = f'{{"External id": {external}, ' if external else "{"
        args += f"{middle}{self.correlation}{tail}"
        self.device_events.append(f'{head}{self.ts(start)}, "dur": {us(dur)}, "args": {args}')
        kernel = item.kernel
        label = self.label if self.label.step is not None else Label()
        link = link if self.is_recording else "none"
        self.rows.append(
            Row(
                item.stream, start, dur, kernel.name, self.correlation, kernel.category,
                kernel.impl, label.step, label.phase, label.source, link,
                kernel.event_category == "kernel", item, graph, call,
                bool(item.shape and external),
            )
        )  # fmt: skip

    def note_device_span(self, first_row: int) -> None:
        """Stretch the innermost scope's device spans over the rows from `first_row` on."""
        if not self.scopes:
            return
        spans = self.scopes[-1].spans
        for row in self.rows[first_row:]:
            end = row.start_ns + row.dur_ns
            span = spans.setdefault(row.stream, [row.start_ns, end])
            span[0], span[1] = min(span[0], row.start_ns), max(span[1], end)

    def arrow_end(self, first_row: int) -> None:
        """Write the end of the flow from the launch to its first activity."""
        if first_row == len(self.rows):
            return
        row = self.rows[first_row]
        self.write(
            f'{{"ph": "f", "id": {self.correlation}, "pid": {self.device}, "tid": {row.stream}, '
            f'"ts": {self.ts(row.start_ns)}, "cat": "ac2g", "name": "ac2g", "bp": "e"}}'
        )

    def output_ready(self) -> int:
        """When the last output copy is done."""
        return self.free.get(COPY, 0)

    def _text(self, item: Work, graph: int, node: int) -> tuple[str, str, str]:
        cat, name = item.kernel.event_category, json.dumps(item.kernel.name)
        head = (
            f'{{"ph": "X", "cat": "{cat}", "name": {name}, "pid": {self.device}, '
            f'"tid": {item.stream}, "ts": '
        )
        queued = '"queued": 0, ' if cat == "kernel" else ""
        middle = (
            f'{queued}"device": {self.device}, "context": 1, "stream": {item.stream}, '
            '"correlation": '
        )
        node_id = (graph << 32) + node if graph else 0
        ids = f', "graph id": {graph}, "graph node id": {node_id}' if self.has_graph_ids else ""
        if cat == "kernel":
            shape = ', "registers per thread": 64, "shared memory": 0, '
            shape += f'"grid": [{item.blocks}, 1, 1], "block": [256, 1, 1]'
        else:
            shape = f', "bytes": {item.bytes}, "memory bandwidth (GB/s)": 1.5'
        return head, middle, f"{shape}{item.args}{ids}}}}}"
