"""vLLM's V2 model runner: no scopes at all, but kernels that mark its stages."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from generator.batch import Acceptance, Batch, annotation, step_of
from generator.kernels import COPY, MAIN, Work, work
from generator.machine import Machine
from generator.model import Model, draft_pass, embedding, target_pass

DRAFT_GRAPHS = 1 << 24
TRITON = "cuLaunchKernelEx"


@dataclass(frozen=True, slots=True)
class V2Options:
    """How a version of the V2 runner is set up; `form` none means no annotation at all.

    has_plugin: tracekit's plugin is loaded; what its scopes leave, the step's span decides.
    """

    form: str = "context"
    graphs: str = "full"
    num_tokens: int = 0
    is_copy_first: bool = False
    has_top_p: bool = False
    has_plugin: bool = False
    model: Model = field(default_factory=Model)


class V2Runner:
    """Runs batches through the V2 runner on a machine."""

    def __init__(self, machine: Machine, options: V2Options) -> None:
        self.m, self.o = machine, options
        self.acceptance = Acceptance(options.num_tokens)
        self._ready = [0, 0]
        self._beside = "span" if options.has_plugin else "kernels"

    def step(self, number: int, batch: Batch) -> None:
        """One engine step; before the profiler runs where `number` is negative."""
        m, name = self.m, annotation(batch, self.o.form)
        m.wait_until(self._ready[0] + 90_000)
        m.begin_step(number, step_of(batch, self.o.form))
        target = "verify" if batch.drafts else "forward"
        with m.scope(name) if name else nullcontext():
            m.idle_host(40_000)
            with m.label("prepare", self._beside):
                self._prepare(batch)
            with self._part(number, "forward", target):
                self._forward(batch)
        m.idle_host(30_000)
        self._sample(number, batch, target)
        if self.o.num_tokens:
            with self._part(number, "draft", "draft"):
                self._draft(batch)
            self._copy_out(8 * self.o.num_tokens)
        m.end_step(number)
        self._ready = [self._ready[1], max(rank.output_ready() for rank in m.active)]
        m.idle_host(60_000)

    def _part(self, number: int, scope: str, phase: str) -> AbstractContextManager[None]:
        """A part of the step: the plugin's scope where it is loaded, and its truth."""
        if not self.o.has_plugin:
            return self.m.label(phase, "kernels")
        return self.m.phase_scope(number, f"tracekit: {scope}", phase, "plugin")

    def _prepare(self, batch: Batch) -> None:
        m = self.m
        for nbytes in (1024, 64, 64):
            copy = work("htod", 0.9, nbytes=nbytes)
            m.launch(copy, call="cudaMemcpyAsync", op="aten::copy_")
            m.idle_host(7_000)
        if batch.drafts:
            m.launch(work("expand_idx_mapping", 1.5), call=TRITON)
        if batch.prefill_tokens:
            m.launch(work("prepare_prefill_inputs", 1.7), call=TRITON)
        m.launch(work("prepare_pos_seq_lens", 1.6), call=TRITON)
        m.launch(work("combine_sampled_and_draft_tokens", 1.8), call=TRITON)
        m.launch(work("gather_block_tables", 1.7), call=TRITON)
        m.launch(work("compute_slot_mappings", 1.6), call=TRITON)
        m.launch(work("mla_metadata", 2.4), op="_flashmla_C::get_mla_metadata")

    def _forward(self, batch: Batch) -> None:
        items = target_pass(self.o.model, batch.tokens, batch.prefill_tokens > 0)
        if self.o.graphs == "eager":
            self._eager(batch, items)
        else:
            self.m.replay(4096 * (1 + batch.tokens), items)

    def _eager(self, batch: Batch, items: list[Work]) -> None:
        m, first = self.m, len(embedding(self.o.model, batch.tokens)) - 2
        with m.host_op("Torch-Compiled Region: 0/0"), m.scope("## Call CompiledFxGraph f4k2 ##"):
            m.launch(*items[:first], call=TRITON)
        for item in items[first:]:
            m.launch(item, op=f"vllm::{item.kernel.category}")

    def _logits(self, batch: Batch) -> None:
        m, rows = self.m, batch.decode_tokens + batch.prefill_reqs
        m.launch(work("gemm_lm_head", 96.0 + rows), op="aten::mm")
        m.launch(self.o.model.gather(rows), op="c10d::_allgather_base_")

    def _sample(self, number: int, batch: Batch, target: str) -> None:
        m = self.m
        with self._part(number, "sample", "sample"):
            # the plugin's scope of sampling begins before hidden_states[logits_indices]
            with nullcontext() if self.o.has_plugin else m.label(target, "kernels"):
                m.launch(work("index", 2.3), op="aten::index")
            with self._part(number, "logits", target):
                self._logits(batch)
            m.launch(work("cast", 2.6), op="aten::_to_copy")
            if self.o.has_top_p:
                m.launch(work("penalties", 4.0), work("temperature", 2.8), call=TRITON)
                m.launch(work("topk_topp", 38.0), call=TRITON)
            if batch.drafts:
                self._reject(number, batch)
            else:
                m.launch(work("gumbel_sample", 12.0), call=TRITON)
        if self.o.is_copy_first:
            self._copy_out(64)
        with self._part(number, "sample", "sample"):
            m.launch(work("post_update", 1.9), call=TRITON)
        if not self.o.is_copy_first:
            self._copy_out(64)

    def _reject(self, number: int, batch: Batch) -> None:
        if number >= 0:
            self.acceptance.check([batch.drafts // batch.decode_reqs] * batch.decode_reqs)
        for key, length in (
            ("gather_draft_sampled", 1.6),
            ("compute_local_logits_stats", 13.0),
            ("rejection", 3.4),
            ("resample", 9.0),
            ("insert_resampled", 1.7),
            ("get_num_sampled_and_rejected", 1.4),
        ):
            self.m.launch(work(key, length), call=TRITON)

    def _draft(self, batch: Batch) -> None:
        m, model = self.m, self.o.model
        m.launch(work("prepare_prefill_inputs", 1.7), call=TRITON)
        m.replay(DRAFT_GRAPHS + batch.tokens, _with_sampling(model, batch.tokens, True))
        m.launch(work("prepare_decode_inputs", 1.6), call=TRITON)
        reqs = batch.decode_reqs + batch.prefill_reqs
        for _ in range(self.o.num_tokens - 1):
            m.replay(DRAFT_GRAPHS * 2 + reqs, _with_sampling(model, reqs, False))

    def _copy_out(self, nbytes: int) -> None:
        with self.m.label("other", self._beside):
            copy = work("dtoh", 1.5, COPY, joins=MAIN, nbytes=nbytes)
            self.m.launch(copy, call="cudaMemcpyAsync", op="aten::copy_")


def _with_sampling(model: Model, tokens: int, is_first: bool) -> list[Work]:
    return [
        *draft_pass(model, tokens, is_first),
        work("gemm_lm_head", 27.0),
        work("gumbel_sample", 6.0),
        work("update_draft_inputs", 1.6),
    ]
