"""Ranks in lock step: launches, graph replays, collectives and scopes on all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from generator.kernels import COLLECTIVES, TAILS, Kernel, Work
from generator.rank import MAIN_THREAD, Call, Label, Rank, Step

GRAPH_CALL_NS = 45_000
RCCL_ARGS = ', "Collective name": "allreduce", "Group size": 2, "dtype": "BFloat16"'
"""RCCL's Generic kernels tell the collective only here."""


class Machine:
    """The ranks of one run; each call below emits on every active rank."""

    def __init__(self, ranks: list[Rank]) -> None:
        self.ranks = ranks
        self.active = ranks
        self.calls: dict[str, str] = {}
        self.kernels: dict[str, Kernel] = {}
        self.is_hidden = False
        self.hidden_link = "none"
        self._renamed: dict[Work, Work] = {}
        self._n_calls = 0
        self.completion_ns = 380

    @contextmanager
    def only(self, ranks: list[Rank]) -> Iterator[None]:
        """Emit on these ranks alone within the block."""
        before, self.active = self.active, ranks
        yield
        self.active = before

    @contextmanager
    def hide_launches(self, link: str) -> Iterator[None]:
        """Leave the launch calls of the block out of the trace; `link` is the truth then."""
        self.is_hidden, self.hidden_link = True, link
        yield
        self.is_hidden = False

    @contextmanager
    def scope(self, name: str, thread: int = MAIN_THREAD) -> Iterator[None]:
        """An annotation around the block."""
        ranks = list(self.active)
        opened = [rank.open_scope(name, thread) for rank in ranks]
        yield
        for rank, scope in zip(ranks, opened, strict=True):
            rank.close_scope(scope)

    @contextmanager
    def host_op(self, name: str) -> Iterator[None]:
        """An operator around the block that launches nothing itself."""
        ranks = [(rank, rank.now) for rank in self.active]
        yield
        for rank, start in ranks:
            rank.now += 1_500
            args = f'"External id": {rank.next_external()}, "Record function id": 0'
            rank.span("cpu_op", name, start, rank.now - start, args)

    @contextmanager
    def label(self, phase: str, source: str) -> Iterator[None]:
        """Truth of what the block emits: its phase and what decides it."""
        ranks = list(self.active)
        before = [rank.label for rank in ranks]
        for rank in ranks:
            rank.label = Label(rank.label.step, phase, source)
        yield
        for rank, label in zip(ranks, before, strict=True):
            rank.label = label

    @contextmanager
    def phase_scope(self, number: int, name: str, phase: str, source: str) -> Iterator[None]:
        """An annotation that decides the phase of the block, and gives it time on the host."""
        for rank in self.active:
            if number in rank.steps:
                rank.steps[number].host_phases.add(phase)
        with self.scope(name), self.label(phase, source):
            yield

    def begin_step(self, number: int, step: Step) -> None:
        """Start step `number` here; a rank whose profiler does not run knows nothing of it."""
        for rank in self.active:
            rank.label = Label()
            if number >= 0 and rank.is_recording:
                rank.steps[number] = replace(step, host_start_ns=rank.now, host_phases=set())
                rank.label = Label(number)

    def end_step(self, number: int) -> None:
        """End the step on the host."""
        for rank in self.active:
            if number in rank.steps:
                rank.steps[number].host_end_ns = rank.now

    def launch(
        self,
        *items: Work,
        call: str = "cudaLaunchKernel",
        op: str | None = None,
        thread: int = MAIN_THREAD,
    ) -> None:
        """Launch each item by a call of its own."""
        for item in items:
            name = "cudaMemsetAsync" if item.kernel.category == "memset" else call
            self._run([item], name, op, thread, graph=0, call_ns=4200)

    def replay(self, graph: int, items: Sequence[Work]) -> None:
        """Replay a graph: one call, all its nodes with the call's correlation."""
        call_ns = GRAPH_CALL_NS + 120 * len(items)
        self._run(items, "cudaGraphLaunch", None, MAIN_THREAD, graph, call_ns)

    def runtime_call(self, name: str) -> None:
        """A call that puts nothing on the device."""
        for rank in self.active:
            rank.correlation += 1
            args = f'"cbid": 137, "correlation": {rank.correlation}'
            rank.span("cuda_runtime", self.calls.get(name, name), rank.now, 2_300, args)
            rank.now += 3_000

    def idle_host(self, ns: int) -> None:
        """Let the host do something else for a while, not quite equally long on all ranks."""
        for rank in self.active:
            rank.now += ns + int(ns * 0.1 * rank.random())

    def wait_until(self, moment: int, spread_ns: int = 20_000) -> None:
        """Let no host go on before `moment`; ranks wake within `spread_ns`."""
        for rank in self.active:
            rank.now = max(rank.now, moment + int(spread_ns * rank.random()))

    def python_frames(self, *names: str) -> None:
        """A few nested Python frames, as profiles with stacks have them."""
        for rank in self.active:
            start = rank.now
            for depth, name in enumerate(names):
                args = f'"Python parent id": {depth or "null"}, "Python id": {depth + 1}'
                rank.span("python_function", name, start + 300 * depth, 9000 - 600 * depth, args)

    def _run(
        self,
        items: Sequence[Work],
        call: str,
        op: str | None,
        thread: int,
        graph: int,
        call_ns: int,
    ) -> None:
        active, link = self.active, self.hidden_link if self.is_hidden else "launch"
        call = self.calls.get(call, call)
        if self.kernels:
            items = [self._rename(item) for item in items]
        ready, externals, first_rows = [], [], []
        for rank in active:
            told = _told(items[0], op)
            start, external = rank.call(call, op, call_ns, thread, self.is_hidden, told)
            ready.append(start + 4800 + int(900 * rank.random()))
            externals.append(external)
            if not graph and items[0].kernel.impl == "nccl":
                rank.enqueued.append((start, items[0]))
            first_rows.append(len(rank.rows))
        for node, item in enumerate(items):
            starts = [rank.start_of(item, at) for rank, at in zip(active, ready, strict=True)]
            ends, number = self._ends(item, starts), self._number(item)
            for rank, start, end, external in zip(active, starts, ends, externals, strict=True):
                rank.put(item, start, end, external, graph, node, link, number)
        for rank, first in zip(active, first_rows, strict=True):
            if thread == MAIN_THREAD:
                rank.note_device_span(first)
            if not self.is_hidden:
                rank.arrow_end(first)

    def _ends(self, item: Work, starts: list[int]) -> list[int]:
        """Ends of the item: each rank's own, or after the last start for a collective."""
        ranks = self.active
        if item.kernel.category not in COLLECTIVES or item.kernel.key in TAILS:
            return [
                start + max(600, int(item.dur_ns * rank.speed * (0.98 + 0.04 * rank.random())))
                for rank, start in zip(ranks, starts, strict=True)
            ]
        end = max(starts) + int(item.dur_ns * (0.96 + 0.08 * ranks[0].random()))
        for rank in ranks:
            rank.speed = rank.bias * (0.84 + 0.6 * rank.random() ** 3)
        return [end + int(self.completion_ns * rank.random()) for rank in ranks]

    def _number(self, item: Work) -> Call | None:
        """The call of a collective that the item is, or ends; None for other work."""
        if item.kernel.category not in COLLECTIVES:
            return None
        if item.kernel.key not in TAILS:
            self._n_calls += 1
        return Call(self._n_calls, len(self.active))

    def _rename(self, item: Work) -> Work:
        """The item with the kernel this platform has in its place."""
        kernel = self.kernels.get(item.kernel.key)
        if kernel and item not in self._renamed:
            args = RCCL_ARGS if kernel.category == "all_reduce" else item.args
            self._renamed[item] = replace(item, kernel=kernel, args=args)
        return self._renamed.get(item, item)


def _told(item: Work, op: str | None) -> str:
    """What the operator's args tell of the collective it launches."""
    if op == "record_param_comms":
        return item.args
    if not item.shape:
        return ""
    return (
        f', "Concrete Inputs": ["", "tp:0"], "Input Dims": [{[*item.shape]}, []], '
        '"Input type": ["c10::BFloat16", ""]'
    )
