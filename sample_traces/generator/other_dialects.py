"""Dialects of other engines: SGLang, data-parallel vLLM, plain PyTorch."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from generator.batch import Batch, annotation, step_of
from generator.kernels import COPY, MAIN, Work, work
from generator.machine import Machine
from generator.model import Model, mla_attention, target_pass
from generator.profiling import Size, close_window, machine, make_rank, open_window, profile
from generator.rank import Step
from generator.run import Run
from generator.sglang import SGLangOptions, SGLangRunner
from generator.vllm_runs import Batches, one_verified, prefill_first

SGLANG_FILE = "1793000012.47-TP-{rank}.trace.json.gz"
BACKWARD_THREAD = 4290


def sglang_eagle(size: Size) -> Run:
    """SGLang 0.5.23 EAGLE with scheduler spans: a prefill, then verify steps."""
    return _sglang("sglang_eagle", size, SGLangOptions(num_tokens=3), prefill_first)


def sglang_no_run_batch(size: Size) -> Run:
    """SGLang EAGLE with draft and step[...] spans only."""
    options = SGLangOptions(outer="none", num_tokens=3)
    return _sglang("sglang_no_run_batch", size, options, one_verified)


def sglang_execute(size: Size) -> Run:
    """SGLang EAGLE with vLLM's detailed annotation around the steps, no scheduler spans."""
    options = SGLangOptions(outer="execute", num_tokens=3)
    return _sglang("sglang_execute", size, options, one_verified)


def sglang_decode_plain(size: Size) -> Run:
    """SGLang without speculation, profiled by stage."""
    batches = lambda _: Batch(decode_reqs=4)  # noqa: E731
    run = _sglang("sglang_decode_plain", size, SGLangOptions(), batches)
    run.file_name = SGLANG_FILE.replace("{rank}", "{rank}-DECODE")
    return run


def _sglang(name: str, size: Size, options: SGLangOptions, batches: Batches) -> Run:
    m = machine(name, 2, size)
    profile(m, SGLangRunner(m, options), batches, size.steps or 5)
    run = Run(name, m.ranks, "sglang", "0.5.23", len(m.ranks), file_name=SGLANG_FILE)
    run.process = "sglang::scheduler_TP{rank}"
    if options.num_tokens:
        run.method, run.num_tokens = "eagle", options.num_tokens
    return run


def dp_dummy_batch(size: Size) -> Run:
    """Two data-parallel engines with expert parallelism: one without work runs dummy batches."""
    m = Machine([make_rank("dp_dummy_batch", dp, 0, dp, size) for dp in range(2)])
    engine = _DataParallel(m)
    engine.step(-1, [])
    open_window(m.ranks)
    idle = {2: [1], 3: [1], 5: [0]}
    for number in range(size.steps or 6):
        engine.step(number, idle.get(number, []))
    close_window(m.ranks)
    run = Run("dp_dummy_batch", m.ranks, tensor_parallel=1, has_empty_steps=True)
    run.process = "VLLM::Worker_DP{dp}_EP{dp}"
    return run


class _DataParallel:
    """Two engines in lock step; the forward's collectives join them."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self._items = [*_expert_parallel_pass()]

    def step(self, number: int, idle: list[int]) -> None:
        """A decode step on all engines but the `idle` ones, which run a dummy batch."""
        m, batch = self.m, Batch(decode_reqs=2)
        busy = [rank for rank in m.ranks if rank.dp not in idle]
        dummies = [rank for rank in m.ranks if rank.dp in idle]
        m.wait_until(max(max(rank.free.get(MAIN, 0) for rank in m.ranks) - 200_000, 0))
        with m.only(dummies):
            m.begin_step(number, Step(kind="idle"))
        with m.only(busy):
            m.begin_step(number, step_of(batch, "context"))
        with ExitStack() as stack:
            with m.only(busy):
                stack.enter_context(m.scope(annotation(batch, "context") or ""))
                self._prepare()
                stack.enter_context(m.label("forward", "span"))
            with m.only(dummies):
                stack.enter_context(m.label("forward", "kernels"))
            m.replay(8192, self._items)
            with m.only(busy):
                m.launch(work("gemm_lm_head", 120.0), op="aten::mm")
        with m.only(busy):
            self._sample()
        m.end_step(number)
        m.idle_host(50_000)

    def _prepare(self) -> None:
        with self.m.label("prepare", "span"):
            copy = work("htod", 0.9, nbytes=512)
            self.m.launch(copy, copy, call="cudaMemcpyAsync", op="aten::copy_")
            self.m.launch(work("compute_slot_mapping", 1.9), call="cuLaunchKernelEx")

    def _sample(self) -> None:
        m = self.m
        with m.label("sample", "span"):
            m.launch(work("argmax", 15.0), op="aten::argmax")
        with m.label("other", "kernels"):
            copy = work("dtoh", 1.4, COPY, joins=MAIN, nbytes=16)
            m.launch(copy, call="cudaMemcpyAsync", op="aten::copy_")


def _expert_parallel_pass() -> list[Work]:
    attention = [w for w in mla_attention(Model(), 2) if w.kernel.category != "all_reduce"]
    experts = [
        work("ag_nccl", 12.0),
        work("router", 3.0),
        work("topk", 2.6),
        work("align", 2.4),
        work("moe_w13", 22.0),
        work("act", 1.6),
        work("moe_w2", 18.0),
        work("moe_sum", 1.9),
        work("rs_nccl", 13.0),
    ]
    layer = [work("norm_add", 3.6), *attention, work("norm_add", 3.6), *experts]
    return [work("embed", 2.4), *layer * 3, work("norm_add", 3.6)]


def generic_torch(size: Size) -> Run:
    """Training with plain PyTorch: ProfilerStep#N, the backward pass on a thread of its own."""
    m = machine("generic_torch", 2, size)
    for rank in m.ranks:
        rank.window_start, rank.is_recording = rank.now - 300_000, True
    for number in range(size.steps or 4):
        m.begin_step(number, Step(kind="unknown"))
        with m.scope(f"ProfilerStep#{number + 12}"):
            _train(m)
        m.end_step(number)
    close_window(m.ranks)
    run = Run("generic_torch", m.ranks, "torch", "2.10.0", 1)
    run.file_name, run.process = "synthetic-host_{pid}.{stamp}.pt.trace.json.gz", "python"
    return run


def _train(m: Machine) -> None:
    reduce = ', "Collective name": "allreduce", "In msg nelems": 4194304, "Group size": 2'
    with m.host_op("aten::linear"):
        for _ in range(4):
            m.launch(work("layer_norm", 6.0), op="aten::native_layer_norm")
            m.launch(work("gemm_torch", 42.0), op="aten::addmm")
            m.launch(work("add", 5.0), op="aten::add_")
    for _ in range(4):
        m.launch(work("gemm_torch", 61.0), op="aten::mm", thread=BACKWARD_THREAD)
    told = reduce + ', "dtype": "Float"'
    gradients = work("ar_nccl_f32", 180.0, 23, joins=MAIN, nbytes=4 * 4194304, args=told)
    m.launch(gradients, op="c10d::allreduce_", thread=BACKWARD_THREAD)
    m.launch(replace(work("adam", 55.0), joins=23), op="aten::_fused_adamw_")
    m.launch(work("memset", 1.2, nbytes=4096), op="aten::zero_")
    m.idle_host(40_000)


def no_annotation(size: Size) -> Run:
    """A serving script of one's own: no annotation, a large graph replayed once a step."""
    m = machine("no_annotation", 2, size)
    server = _Script(m)
    server.step(-1)
    open_window(m.ranks)
    for number in range(size.steps or 5):
        server.step(number)
    close_window(m.ranks)
    run = Run("no_annotation", m.ranks, "torch", "2.10.0", len(m.ranks))
    run.file_name, run.process = "synthetic-host_{pid}.{stamp}.pt.trace.json.gz", "python"
    return run


class _Script:
    """Copies in, replays the model's graph, samples with a small second graph, copies out."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self._model = [*target_pass(Model(), 1), work("gemm_lm_head", 96.0)]
        self._sampler = [work("softmax", 6.0), work("argmax", 11.0)]

    def step(self, number: int) -> None:
        """One step; before the profiler runs where `number` is negative."""
        m = self.m
        m.wait_until(max(max(rank.free.get(MAIN, 0) for rank in m.ranks) - 150_000, 0))
        m.begin_step(number, Step(kind="unknown"))
        with m.label("prepare", "graph"):
            copy = work("htod", 1.0, nbytes=128)
            m.launch(copy, copy, call="cudaMemcpyAsync", op="aten::copy_")
        with m.label("forward", "graph"):
            m.replay(301, self._model)
        m.replay(302, self._sampler)
        with m.label("other", "kernels"):
            copy = work("dtoh", 1.3, COPY, joins=MAIN, nbytes=8)
            m.launch(copy, call="cudaMemcpyAsync", op="aten::copy_")
        m.end_step(number)
        m.idle_host(30_000)
