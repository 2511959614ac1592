"""Runs of vLLM's two model runners, and what their steps work on."""

from __future__ import annotations

from collections.abc import Callable

from generator.batch import Batch
from generator.clocks import ON_ONE_CLOCK, Clocks
from generator.kernels import KERNELS
from generator.machine import Machine
from generator.profiling import Runner, Size, machine, profile
from generator.run import Run
from generator.v1 import V1Runner
from generator.v1_options import V1Options
from generator.v2 import V2Options, V2Runner

Batches = Callable[[int], Batch]
Profiled = Callable[[Machine, Runner, Batches, int], None]

HIP_CALLS = {
    "cudaLaunchKernel": "hipLaunchKernel",
    "cuLaunchKernelEx": "hipExtModuleLaunchKernel",
    "cudaMemcpyAsync": "hipMemcpyAsync",
    "cudaGraphLaunch": "hipGraphLaunch",
    "cudaEventSynchronize": "hipEventSynchronize",
}
HIP_KERNELS = {
    "htod": "hip_htod",
    "dtoh": "hip_dtoh",
    "ar_custom_2": "ar_rccl",
    "ag_nccl": "coll_rccl",
    "fused_a": "hip_gemm",
    "gemm_q_b": "hip_gemm_small",
    "bmm_uk": "hip_gemm_small",
    "bmm_uv": "hip_gemm_small",
    "gemm_o": "hip_gemm",
    "gemm_gate_up": "hip_gemm",
    "gemm_down": "hip_gemm",
    "gemm_lm_head": "hip_gemm",
    "router": "hip_gemm_small",
    "norm": "hip_norm",
    "norm_add": "hip_norm",
    "mla": "hip_mla",
    "moe_w13": "hip_moe",
    "moe_w2": "hip_moe",
    "index": "hip_blit",
}
EMPTY = Batch(decode_reqs=0)


def one(_: int) -> Batch:
    """Decode of one request."""
    return Batch()


def one_verified(_: int) -> Batch:
    """Decode of one request that checks three drafts."""
    return Batch(drafts=3)


def prefill_first(number: int) -> Batch:
    """Two prompts in step 0, then both verified."""
    if number == 0:
        return Batch(decode_reqs=0, prefill_reqs=2, prefill_tokens=384)
    return Batch(decode_reqs=2, drafts=6)


def mixture(number: int) -> Batch:
    """Prefill, mixed, decode, and again."""
    return (
        Batch(decode_reqs=0, prefill_reqs=1, prefill_tokens=256),
        Batch(decode_reqs=1, prefill_reqs=1, prefill_tokens=128),
        Batch(decode_reqs=2),
    )[number % 3]


def v1_run(
    name: str,
    size: Size,
    options: V1Options,
    batches: Batches,
    ranks: int = 2,
    steps: int = 5,
    *,
    is_hip: bool = False,
    clocks: Clocks = ON_ONE_CLOCK,
    runner: type[V1Runner] = V1Runner,
    profiled: Profiled = profile,
) -> Run:
    """A run of the V1 runner, or of a `runner` derived from it."""
    m = machine(name, ranks, size)
    clocks.set(m)
    if is_hip:
        m.calls, m.kernels = HIP_CALLS, {k: KERNELS[v] for k, v in HIP_KERNELS.items()}
        for rank in m.ranks:
            rank.has_graph_ids = False
    server = runner(m, options)
    profiled(m, server, batches, size.steps or steps)
    run = Run(name, m.ranks, tensor_parallel=len(m.ranks), has_empty_steps=options.form != "none")
    if options.method != "none":
        run.method = {"eagle": "eagle3"}.get(options.method, options.method)
        run.num_tokens, run.acceptance = options.num_tokens, server.acceptance
    run.stragglers = [(n, s.rank, s.side) for n, s in sorted(options.stragglers.items())]
    return run


def v2_run(
    name: str,
    size: Size,
    options: V2Options,
    batches: Batches,
    steps: int = 5,
    *,
    ranks: int = 2,
    is_hidden: bool = False,
) -> Run:
    """A run of the V2 runner; `is_hidden` leaves its launch calls out."""
    m = machine(name, ranks, size)
    for rank in m.ranks:
        rank.has_ops = options.form != "none"
    runner = V2Runner(m, options)
    m.is_hidden, m.hidden_link = is_hidden, "order"
    profile(m, runner, batches, size.steps or steps)
    run = Run(name, m.ranks, tensor_parallel=len(m.ranks), has_empty_steps=options.form != "none")
    if options.num_tokens:
        run.method, run.num_tokens = "eagle3", options.num_tokens
        run.acceptance = runner.acceptance
    return run
