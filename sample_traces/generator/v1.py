"""vLLM's V1 model runner: what one step does on the host, with or without scopes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

from generator.batch import Acceptance, Batch, annotation, step_of
from generator.kernels import COPY, MAIN, Work, work
from generator.machine import Machine
from generator.model import (
    draft_after_attention,
    draft_attention,
    draft_before_attention,
    draft_pass,
    pieces,
    target_pass,
)
from generator.rank import Label
from generator.stragglers import straggling
from generator.v1_options import V1Options

DRAFT_GRAPHS = 1 << 24
"""Graph ids of the drafter start here."""


class V1Runner:
    """Runs batches through the V1 runner on a machine."""

    def __init__(self, machine: Machine, options: V1Options) -> None:
        self.m, self.o = machine, options
        self.acceptance = Acceptance(options.num_tokens, options.survival)
        self._ready = [0, 0]
        self._pass: dict[tuple[int, bool], list[Work]] = {}

    def step(self, number: int, batch: Batch) -> None:
        """One engine step; before the profiler runs where `number` is negative."""
        m, o = self.m, self.o
        m.wait_until(self._ready[0 if o.is_async else 1] + 90_000)
        if not batch.tokens:
            m.wait_until(max(max(rank.free.values()) for rank in m.active) + 150_000)
        m.begin_step(number, step_of(batch, o.form))
        name = annotation(batch, o.form)
        if name:
            with m.scope(name):
                self._execute_model(number, batch)
        else:
            self._execute_model(number, batch)
        m.idle_host(30_000)
        if number == o.cut_step:
            for rank in m.active:
                rank.steps[number].is_cut = True
        elif batch.tokens:
            self._sample_tokens(number, batch)
        m.end_step(number)
        m.idle_host(60_000 if batch.tokens else 400_000)

    @contextmanager
    def _part(self, number: int, scope: str, phase: str, source: str) -> Iterator[None]:
        """A part of the step: its scope where the version has scopes, and its truth.

        What the plugin's scopes leave, the step's span decides where they are alone.
        """
        if self.o.scopes == "none":
            with self.m.label(phase, "span" if self.o.has_plugin else source):
                yield
            return
        is_new = self.o.scopes == "new"
        name = f"gpu_model_runner: {scope}" if is_new else scope.capitalize()
        with self.m.phase_scope(number, name, phase, "engine"):
            yield
            self.m.idle_host(4_000)

    def _plugin(self, number: int, scope: str, phase: str) -> AbstractContextManager[None]:
        """A scope of tracekit's plugin, where it is loaded."""
        if not self.o.has_plugin:
            return nullcontext()
        return self.m.phase_scope(number, f"tracekit: {scope}", phase, "plugin")

    def _execute_model(self, number: int, batch: Batch) -> None:
        m, o = self.m, self.o
        m.python_frames("gpu_worker.py(747): execute_model", "gpu_model_runner.py(3758): run")
        m.runtime_call("cudaEventSynchronize")
        m.idle_host(40_000)
        if not batch.tokens:
            return
        target = "verify" if batch.drafts else "forward"
        if o.form != "none":
            if number == o.lost_step:
                self._lose_copy(number)
            with m.label("prepare", "span"):
                m.launch(work("htod", 1.1, nbytes=512), call="cudaMemcpyAsync", op="aten::copy_")
        with self._part(number, "preprocess", "prepare", "span"):
            self._prepare(batch)
        with (
            straggling(self.m, self.o.stragglers.get(number)),
            self._part(number, "forward", target, "span"),
            self._plugin(number, "forward", target),
        ):
            self._forward(number, batch)
        with self._part(number, "postprocess", target, "span"):
            m.launch(work("index", 2.3), op="aten::index")  # hidden_states[logits_indices]
            with self._plugin(number, "logits", target):
                self._logits(batch.decode_tokens + batch.prefill_reqs)

    def _lose_copy(self, number: int) -> None:
        """A copy between two steps whose call is not in the trace: it belongs to neither."""
        m = self.m
        for rank in m.active:
            rank.label = Label()
        with m.hide_launches("none"):
            m.launch(work("htod", 1.4, nbytes=96), call="cudaMemcpyAsync", op="aten::copy_")
        for rank in m.active:
            rank.label = Label(number)

    def _prepare(self, batch: Batch) -> None:
        m = self.m
        for nbytes in (1312, 656, 64, 64):
            copy = work("htod", 0.9, nbytes=nbytes)
            m.launch(copy, call="cudaMemcpyAsync", op="aten::copy_")
            m.idle_host(9_000)
        m.launch(work("fill", 1.3), op="aten::fill_")
        if self.o.form in ("context", "detailed"):
            m.launch(work("compute_slot_mapping", 1.9), call="cuLaunchKernelEx")
        m.launch(work("mla_metadata", 2.4), op="_flashmla_C::get_mla_metadata")
        if self.o.copies_lengths_out:
            copy = work("dtoh", 1.2, nbytes=64)
            m.launch(copy, call="cudaMemcpyAsync", op="aten::copy_")
        if batch.drafts:
            m.launch(work("index", 2.2), op="aten::index")
        m.idle_host(60_000)

    def _forward(self, number: int, batch: Batch) -> None:
        is_prefill = batch.prefill_tokens > 0
        tokens = min([n for n in self.o.graph_sizes if n >= batch.tokens], default=batch.tokens)
        key = (tokens, is_prefill)
        if key not in self._pass:
            self._pass[key] = target_pass(self.o.model, tokens, is_prefill)
        items = self._pass[key]
        graph = 4096 * (1 + tokens)
        if self.o.graphs in ("full", "decode") and not is_prefill:
            self.m.replay(graph, items)
        elif self.o.graphs in ("eager", "decode"):
            self._eager(items)
        else:
            self._piecewise(graph, items, number == self.o.lost_step)

    def _eager(self, items: list[Work]) -> None:
        m = self.m
        with m.host_op("Torch-Compiled Region: 0/0"), m.scope("## Call CompiledFxGraph f4k2 ##"):
            m.launch(items[0], call="cuLaunchKernelEx")
        for item in items[1:]:
            self._collective(item, "nccl:all_reduce", "c10d::allreduce_")

    def _collective(self, item: Work, scope: str, op: str) -> None:
        """Launch the item; NCCL's annotation is around it where torch.distributed calls it."""
        if item.kernel.impl != "nccl":
            self.m.launch(item, op=f"vllm::{item.kernel.category}")
        elif self.o.has_nccl_scopes:
            with self.m.scope(scope):
                self.m.launch(item, op=op)
        else:
            self.m.launch(item)

    def _piecewise(self, graph: int, items: list[Work], is_lossy: bool) -> None:
        m, op = self.m, "vllm::unified_mla_attention_with_output"
        for number, piece in enumerate(pieces(items)):
            if not piece[0].eager:
                m.replay(graph + number, piece)
            elif is_lossy and number < 4:
                with m.hide_launches("order"):
                    m.launch(piece[0], op=op)
                m.launch(*piece[1:], op=op)
            else:
                m.launch(*piece, op=op)

    def _logits(self, rows: int) -> None:
        self.m.launch(work("gemm_lm_head", 96.0 + rows), op="aten::mm")
        self._gather(rows, self.o.logits_args)

    def _gather(self, rows: int, args: str = "") -> None:
        """All-gather of the logits of `rows` tokens."""
        gather = replace(self.o.model.gather(rows), args=args)
        self._collective(gather, "nccl:_all_gather_base", "c10d::_allgather_base_")

    def _sample_tokens(self, number: int, batch: Batch) -> None:
        o = self.o
        if o.method == "none":
            parts = ["sample", "bookkeep", "output"]
        elif o.method == "ngram" or o.scopes == "0.10" or o.drafts_last:
            parts = ["sample", "bookkeep", "draft", "output"]
        else:
            parts = ["sample", "draft", "bookkeep", "output"]
        for part in [*parts, *(["eplb"] if o.has_eplb else [])]:
            getattr(self, f"_{part}")(number, batch)

    def _sample(self, number: int, batch: Batch) -> None:
        m = self.m
        source = "span" if self.o.method == "none" else "kernels"
        with (
            self._part(number, "sample", "sample", source),
            self._plugin(number, "sample", "sample"),
        ):
            m.launch(work("cast", 2.6), op="aten::_to_copy")
            if batch.drafts:
                per_request = batch.drafts // batch.decode_reqs
                self._count(number, [per_request] * batch.decode_reqs)
                self._reject()
            else:
                m.launch(work("argmax", 14.0), op="aten::argmax")

    def _reject(self) -> None:
        m, triton = self.m, "cuLaunchKernelEx"
        if self.o.is_random:
            m.launch(work("expand", 1.6), call=triton)
            m.launch(work("softmax", 9.0), op="aten::softmax")
            m.launch(work("exponential", 7.0), op="aten::exponential_")
            m.launch(work("sample_recovered_tokens", 11.0), call=triton)
            m.launch(work("rejection_random_sample", 3.3), call=triton)
        else:
            m.launch(work("argmax", 24.0), op="aten::argmax")
            m.launch(work("rejection_greedy_sample", 3.1), call=triton)

    def _count(self, number: int, lengths: list[int]) -> None:
        if number >= 0:
            self.acceptance.check(lengths)

    def _draft(self, number: int, batch: Batch) -> None:
        with self._part(number, "draft", "draft", "kernels"):
            with self._plugin(number, "draft", "draft"):
                self._propose(batch)
            if self.o.copies_drafts_out:
                # vLLM's scope decides where there is one, else a copy like any other
                source = "span" if self.o.has_plugin else "kernels"
                with self.m.label("other", source) if self.o.scopes == "none" else nullcontext():
                    self._copy_out(batch)

    def _propose(self, batch: Batch) -> None:
        if self.o.method == "ngram":
            self.m.idle_host(180_000)
        else:
            self._eagle(batch)

    def _eagle(self, batch: Batch) -> None:
        m, model = self.m, self.o.model
        if self.o.has_prepare_kernels:
            m.launch(work("eagle_prepare_next_token_padded", 2.0), call="cuLaunchKernelEx")
            m.launch(work("eagle_prepare_inputs_padded", 1.9), call="cuLaunchKernelEx")
        for k in range(self.o.num_tokens):
            tokens = batch.tokens if k == 0 else max(1, batch.decode_reqs)
            if self.o.graphs == "full":
                graph = DRAFT_GRAPHS + 4 * tokens + (k == 0)
                m.replay(graph, draft_pass(model, tokens, k == 0))
            else:
                self._draft_pieces(tokens, k == 0)
            m.launch(work("gemm_lm_head", 27.0), op="aten::mm")
            if self.o.gathers_drafts:
                self._gather(batch.decode_reqs + batch.prefill_reqs)
            m.launch(work("argmax", 6.0), op="aten::argmax")
            if k + 1 < self.o.num_tokens and self.o.has_prepare_kernels:
                m.launch(work("eagle_step_slot_mapping_metadata", 1.8), call="cuLaunchKernelEx")

    def _draft_pieces(self, tokens: int, is_first: bool) -> None:
        m, graph = self.m, DRAFT_GRAPHS + 4 * tokens + 2 * is_first
        m.replay(graph, draft_before_attention(tokens, is_first))
        m.launch(*draft_attention(), op="vllm::unified_attention_with_output")
        m.replay(graph + 1, draft_after_attention(self.o.model, tokens))

    def _bookkeep(self, number: int, batch: Batch) -> None:
        with self._part(number, "bookkeep", "other", "kernels"):
            if self.o.is_async:
                self.m.idle_host(25_000)
                return
            self._copy_out(batch)
            for rank in self.m.active:
                rank.now = max(rank.now, rank.output_ready() + 6_000)

    def _output(self, number: int, batch: Batch) -> None:
        m = self.m
        if self.o.is_async:
            with self._part(number, "AsyncGPUModelRunnerOutput", "other", "kernels"):
                self._copy_out(batch)
        elif self.o.scopes == "new":
            with self._part(number, "ModelRunnerOutput", "other", "kernels"):
                m.idle_host(9_000)
        self._ready = [self._ready[1], max(rank.output_ready() for rank in m.active)]

    def _eplb(self, number: int, batch: Batch) -> None:
        with self._part(number, "eplb", "other", "kernels"):
            self.m.launch(work("dtod", 6.0, nbytes=4096), call="cudaMemcpyAsync", op="aten::copy_")

    def _copy_out(self, batch: Batch) -> None:
        copy = work("dtoh", 1.5, COPY, joins=MAIN, nbytes=8 * max(1, batch.tokens))
        self.m.launch(copy, call="cudaMemcpyAsync", op="aten::copy_")
