"""Dialects about collectives: who waits for whom, on which clocks, and what tells their size."""

from __future__ import annotations

from generator.batch import Batch
from generator.clocks import Clocks
from generator.machine import Machine
from generator.model import Model
from generator.nccl_log import NcclLog
from generator.profiling import Runner, Size, lose_buffer, profile_unevenly
from generator.run import CONFIG, DRAFT_CONFIG, Run
from generator.stragglers import Straggler
from generator.v1_options import V1Options
from generator.v2 import V2Options
from generator.vllm_runs import Batches, one, one_verified, v1_run, v2_run
from generator.zoo import RocmZoo, Zoo

TP8 = Model(all_reduce="ar_custom_8", transfer_us=34.4)
PYNCCL = Model(all_reduce="ar_nccl", transfer_us=41.0)
GRAPH_SIZES = (8, 4, 2, 1)
STRAGGLERS = {
    1: Straggler(3, "device"),
    2: Straggler(6, "host"),
    4: Straggler(1, "device"),
    5: Straggler(0, "host"),
}
GPU_CLOCKS = (0, 37_250, -50_000, 12_500, -8_310, 50_000, -21_040, -700)


def ranks8_common_clock(size: Size) -> Run:
    """Eight ranks on one clock, full graphs; in some steps one rank's host or device is late."""
    options = V1Options(model=TP8, stragglers=STRAGGLERS)
    return v1_run("ranks8_common_clock", size, options, one, 8, 6)


def ranks8_clock_offsets(size: Size) -> Run:
    """The same on GPU clocks up to 50 us off their host's; collectives end within 3 us."""
    options = V1Options(model=TP8, stragglers=STRAGGLERS)
    clocks = Clocks(gpus=GPU_CLOCKS, completion_ns=3_000)
    return v1_run("ranks8_clock_offsets", size, options, one, 8, 6, clocks=clocks)


def ranks8_two_hosts(size: Size) -> Run:
    """Four ranks on each of two hosts, whose clocks are seconds apart."""
    options = V1Options(model=TP8, stragglers=STRAGGLERS)
    clocks = Clocks(hosts=(0, 7_300_411_250), completion_ns=3_000)
    return v1_run("ranks8_two_hosts", size, options, one, 8, 6, clocks=clocks)


def unequal_counts(size: Size) -> Run:
    """A dropped buffer in step 3 of rank 2; rank 1 stops a step early, the last starts one late."""

    def profiled(m: Machine, runner: Runner, batches: Batches, steps: int) -> None:
        profile_unevenly(m, runner, batches, steps)
        lose_buffer(m.ranks[min(2, len(m.ranks) - 1)], 3)

    options = V1Options(model=TP8)
    return v1_run("unequal_counts", size, options, one, 8, 6, profiled=profiled)


def collectives_zoo(size: Size) -> Run:
    """Eager, shapes recorded: every NVIDIA implementation, with NCCL's args and without."""
    options = V1Options(scopes="new")
    return v1_run("collectives_zoo", size, options, _four, 8, 3, runner=Zoo)


def collectives_zoo_rocm(size: Size) -> Run:
    """The same with AMD's: quick reduce, aiter's pair, RCCL's Generic kernel with args."""
    options = V1Options(scopes="new")
    run = v1_run("collectives_zoo_rocm", size, options, _four, 4, 3, is_hip=True, runner=RocmZoo)
    run.gpu = ""
    return run


def _four(_: int) -> Batch:
    return Batch(decode_reqs=4)


def draft_collectives(size: Size) -> Run:
    """EAGLE-3 whose passes have AllReduces and logits all-gathers of their own."""
    options = V1Options(model=TP8, method="eagle", gathers_drafts=True)
    run = v1_run("draft_collectives", size, options, one_verified, 8, 4)
    run.model = "kimi-like-int4"
    run.configs = {run.model: CONFIG, "kimi-like-eagle3": DRAFT_CONFIG}
    return run


def bytes_from_model(size: Size) -> Run:
    """No log, no args, no shapes: only the model's config.json tells message sizes."""
    model = Model(all_reduce="ar_custom_8", big_reduce="ar_nccl", transfer_us=30.0)
    run = v1_run("bytes_from_model", size, V1Options(model=model), _growing, 8, 6)
    run.configs = {"kimi-like-int4": CONFIG}
    return run


def _growing(number: int) -> Batch:
    if number == 0:
        return Batch(decode_reqs=0, prefill_reqs=1, prefill_tokens=256)
    return Batch(decode_reqs=2 ** (number % 5))


def nccl_log_graphs(size: Size) -> Run:
    """Pynccl in graphs of several batch sizes, an eager prefill, and NCCL's logs beside."""
    options = V1Options(model=PYNCCL, graphs="decode", graph_sizes=GRAPH_SIZES)
    run = v1_run("nccl_log_graphs", size, options, _sizes, 8, 6)
    run.nccl_log = NcclLog(PYNCCL, GRAPH_SIZES)
    run.configs = {"kimi-like-int4": CONFIG}
    return run


def _sizes(number: int) -> Batch:
    """A prompt, then batches of which 3 is padded to 4."""
    if number == 0:
        return Batch(decode_reqs=0, prefill_reqs=1, prefill_tokens=128)
    return Batch(decode_reqs=(8, 1, 3, 4, 2)[number % 5])


def nccl_log_no_annotation(size: Size) -> Run:
    """The same without annotations: of two batch sizes with equal channels none is chosen."""
    sizes = (8, 4, 1)
    options = V2Options(form="none", model=PYNCCL)
    batches = lambda n: Batch(decode_reqs=sizes[n % 3])  # noqa: E731
    run = v2_run("nccl_log_no_annotation", size, options, batches, 6, ranks=8)
    run.nccl_log = NcclLog(PYNCCL, sizes, is_told_apart=False)
    return run
