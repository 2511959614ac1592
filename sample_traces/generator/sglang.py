"""SGLang's scheduler: plain decode and EAGLE, with the spans its versions write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from generator.batch import Batch, annotation, step_of
from generator.kernels import COPY, MAIN, work
from generator.machine import Machine
from generator.model import Model, draft_pass, target_pass
from generator.rank import Step

DRAFT_GRAPHS = 1 << 24


@dataclass(frozen=True, slots=True)
class SGLangOptions:
    """Which outer span a step has: run_batch, execute or none; `num_tokens` drafts a step."""

    outer: str = "run_batch"
    num_tokens: int = 0
    model: Model = field(default_factory=lambda: Model(all_reduce="ar_sglang"))


class SGLangRunner:
    """Runs batches through SGLang's scheduler on a machine."""

    def __init__(self, machine: Machine, options: SGLangOptions) -> None:
        self.m, self.o = machine, options
        self._ready = [0, 0]

    def step(self, number: int, batch: Batch) -> None:
        """One batch; before the profiler runs where `number` is negative."""
        m = self.m
        m.wait_until(self._ready[0] + 60_000)
        if self.o.outer == "run_batch":
            for name in ("recv_requests", "process_input_requests", "get_next_batch_to_run"):
                with m.scope(f"scheduler.{name}"):
                    m.idle_host(12_000)
        m.begin_step(number, self._step(batch))
        with self._outer(batch):
            self._batch(batch)
        self._ready = [self._ready[1], max(rank.output_ready() for rank in m.active)]
        if self.o.outer == "run_batch":
            with m.scope("scheduler.process_batch_result"):
                m.idle_host(45_000)
        m.end_step(number)

    def _step(self, batch: Batch) -> Step:
        if self.o.outer == "execute":
            return step_of(batch, "detailed")
        step = step_of(batch, "context")
        if batch.drafts:
            # step[VERIFY bs=N] tells requests, not how many tokens each has to check
            step.n_decode_tokens = step.n_draft_tokens = None
        return step

    @contextmanager
    def _outer(self, batch: Batch) -> Iterator[None]:
        names = {"run_batch": "scheduler.run_batch", "execute": annotation(batch, "detailed")}
        name = names.get(self.o.outer)
        with self.m.scope(name) if name else nullcontext():
            yield

    def _rest(self, phase: str) -> tuple[str, str]:
        """Phase and source of what only the outer span covers."""
        return ("other", "none") if self.o.outer == "none" else (phase, "engine")

    def _batch(self, batch: Batch) -> None:
        m = self.m
        if self.o.outer != "none":
            with m.label("prepare", "engine"):
                copy = work("htod", 1.0, nbytes=256)
                m.launch(copy, copy, call="cudaMemcpyAsync", op="aten::copy_")
        if batch.drafts:
            self._draft(batch)
            with m.label(*self._rest("other")):
                m.launch(work("assign_extend_cache_locs", 1.6), call="cuLaunchKernelEx")
        self._target(batch)
        self._sample(batch)
        if self.o.num_tokens:
            self._draft_extend(batch)
        if self.o.outer != "none":
            # behind draft_extend nothing is sampled any more; without one it still is
            with m.label("other" if self.o.num_tokens else "sample", "engine"):
                m.launch(work("cast", 1.9), op="aten::_to_copy")

    def _draft(self, batch: Batch) -> None:
        m, o = self.m, self.o
        with m.scope("draft"), m.label("draft", "engine"):
            m.launch(work("assign_draft_cache_locs_contiguous", 1.7), call="cuLaunchKernelEx")
            m.launch(work("generate_draft_decode_kv_indices", 1.9), call="cuLaunchKernelEx")
            # the replay of the draft loop writes no step span of its own
            passes = [
                draft_pass(o.model, batch.decode_reqs, False) for _ in range(o.num_tokens - 1)
            ]
            m.replay(DRAFT_GRAPHS, [item for items in passes for item in items])
            m.launch(work("build_tree", 2.8), op="sgl_kernel::build_tree_kernel_efficient")

    def _target(self, batch: Batch) -> None:
        m, phase = self.m, "verify" if batch.drafts else "forward"
        with m.scope(_span(batch)):
            with m.label("prepare", "engine"):
                m.launch(work("htod", 0.9, nbytes=64), call="cudaMemcpyAsync", op="aten::copy_")
                m.launch(work("create_flashmla_kv_indices_triton", 1.8), call="cuLaunchKernelEx")
                m.launch(work("mla_metadata", 2.3), op="sgl_kernel::get_mla_metadata")
            with m.label(phase, "engine"):
                items = target_pass(self.o.model, batch.tokens, batch.prefill_tokens > 0)
                m.replay(4096 * (1 + batch.tokens), items)
                m.launch(work("gemm_lm_head", 98.0), op="aten::mm")
                m.launch(work("ag_nccl", 18.0), op="c10d::_allgather_base_")

    def _sample(self, batch: Batch) -> None:
        m = self.m
        with m.label(*self._rest("sample")):
            m.launch(work("argmax", 15.0), op="aten::argmax")
            if batch.drafts:
                m.launch(work("verify_tree", 3.2), op="sgl_kernel::verify_tree_greedy")
                m.launch(work("fill_accept_out_cache_loc", 1.6), call="cuLaunchKernelEx")
        with m.label("other", "kernels" if self.o.outer == "none" else "engine"):
            copy = work("dtoh", 1.4, COPY, joins=MAIN, nbytes=64)
            m.launch(copy, call="cudaMemcpyAsync", op="aten::copy_")

    def _draft_extend(self, batch: Batch) -> None:
        m, reqs = self.m, batch.decode_reqs + batch.prefill_reqs
        with m.scope("draft_extend"), m.label("draft", "engine"):
            m.launch(work("htod", 0.9, nbytes=64), call="cudaMemcpyAsync", op="aten::copy_")
            with m.scope(f"step[DRAFT bs={reqs}]"):
                graph = DRAFT_GRAPHS * 2 + batch.tokens
                m.replay(graph, draft_pass(self.o.model, batch.tokens, True))
                m.launch(work("gemm_lm_head", 27.0), op="aten::mm")
            m.launch(work("softmax", 5.5), op="aten::softmax")


def _span(batch: Batch) -> str:
    if batch.prefill_reqs:
        return f"step[EXTEND bs={batch.prefill_reqs} toks={batch.prefill_tokens}]"
    return f"step[{'VERIFY' if batch.drafts else 'DECODE'} bs={batch.decode_reqs}]"
