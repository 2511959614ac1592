"""Pairs of runs, without drafts and with: where drafts pay, where not, and how time grows."""

from __future__ import annotations

from generator.batch import SURVIVAL, Batch
from generator.model import ELEMENT_BYTES, HIDDEN, Model
from generator.profiling import Size
from generator.run import CONFIG, Run
from generator.v1_options import V1Options
from generator.vllm_runs import v1_run

STEPS = 30
PCIE_5_BYTES_PER_US = 24_000
REDUCE_US = 14.0
PAIR = Model(layers=8)
SMALL = Model(layers=2)
BOUND = Model(
    layers=8,
    transfer_us=REDUCE_US,
    reduce_growth=HIDDEN * ELEMENT_BYTES / PCIE_5_BYTES_PER_US / REDUCE_US,
    growth=0.0,
    reading=1.0,
)
"""Weights and messages alone take time: experts by those touched, all-reduces by their bytes."""
RARELY = (0.1, 0.04, 0.02, 0.01, 0.0)


def pair_baseline(size: Size) -> Run:
    """Eight layers, one request, no drafts: the baseline of pair_eagle3_k1 to _k5."""
    return _run("pair_baseline", size, PAIR, 0)


def pair_eagle3_k1(size: Size) -> Run:
    """The pair's run with EAGLE-3 drafts of one token."""
    return _run("pair_eagle3_k1", size, PAIR, 1)


def pair_eagle3_k2(size: Size) -> Run:
    """Drafts of two tokens."""
    return _run("pair_eagle3_k2", size, PAIR, 2)


def pair_eagle3_k3(size: Size) -> Run:
    """Drafts of three tokens."""
    return _run("pair_eagle3_k3", size, PAIR, 3)


def pair_eagle3_k4(size: Size) -> Run:
    """Drafts of four tokens."""
    return _run("pair_eagle3_k4", size, PAIR, 4)


def pair_eagle3_k5(size: Size) -> Run:
    """Drafts of five tokens."""
    return _run("pair_eagle3_k5", size, PAIR, 5)


def losing_baseline(size: Size) -> Run:
    """Two layers, so that a draft is dear: the baseline of losing_eagle3."""
    return _run("losing_baseline", size, SMALL, 0)


def losing_eagle3(size: Size) -> Run:
    """Drafts of five tokens that are rarely accepted: slower than without."""
    return _run("losing_eagle3", size, SMALL, 5, RARELY)


def bound_baseline(size: Size) -> Run:
    """Only bytes take time: weights of the experts touched, messages over PCIe 5; no drafts."""
    return _run("bound_baseline", size, BOUND, 0)


def bound_eagle3(size: Size) -> Run:
    """The same with EAGLE-3 drafts of three tokens."""
    return _run("bound_eagle3", size, BOUND, 3)


def _run(
    name: str, size: Size, model: Model, k: int, survival: tuple[float, ...] = SURVIVAL
) -> Run:
    method = "eagle" if k else "none"
    options = V1Options(scopes="new", model=model, method=method, num_tokens=k, survival=survival)
    run = v1_run(name, size, options, lambda _: Batch(drafts=k), steps=STEPS)
    run.configs = {"kimi-like-int4": CONFIG}
    return run
