"""Layers as device work: a Kimi-like int4 MoE model under tensor parallelism, and its drafter."""

from __future__ import annotations

from dataclasses import dataclass

from generator.kernels import AUX, Work, work
from generator.nccl_tuning import choice

HIDDEN, VOCABULARY, ELEMENT_BYTES = 7168, 163_840, 2
EXPERTS, ACTIVE = 384, 8
CUSTOM_MAX_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class Model:
    """What changes the kernels of a pass: depth, AllReduce, Marlin's generation.

    `big_reduce` is the AllReduce of messages that vLLM's custom one is too small for. What each
    further token adds: `reduce_growth` to an AllReduce, `growth` to attention and the GEMMs around
    it. `reading` is the part of Marlin's time for one token that is reading its experts.
    """

    layers: int = 3
    all_reduce: str = "ar_custom_2"
    transfer_us: float = 14.0
    moe: tuple[str, str] = ("moe_w13", "moe_w2")
    has_fused_embedding: bool = True
    big_reduce: str = ""
    args: str = ""
    reduce_growth: float = 0.002
    growth: float = 0.02
    reading: float = 0.45

    def reduce(self, tokens: int) -> Work:
        """One AllReduce of `tokens` hidden states."""
        nbytes = tokens * HIDDEN * ELEMENT_BYTES
        is_big = self.big_reduce and nbytes > CUSTOM_MAX_BYTES
        key = self.big_reduce if is_big else self.all_reduce
        us = self.transfer_us * (1 + self.reduce_growth * (tokens - 1))
        grid = choice("all_reduce", nbytes).channels if self.is_pynccl else 0
        return work(key, us, nbytes=nbytes, args=self.args, grid=grid)

    def gather(self, rows: int) -> Work:
        """The AllGather of the logits of `rows` tokens."""
        nbytes = rows * VOCABULARY * ELEMENT_BYTES
        grid = choice("all_gather", nbytes).channels if self.is_pynccl else 0
        return work("ag_nccl", 17.0 + 2 * rows, nbytes=nbytes, grid=grid)

    @property
    def is_pynccl(self) -> bool:
        """Whether vLLM calls NCCL itself, so that no event's args tell anything."""
        return self.all_reduce == "ar_nccl" and not self.args


BIG_TILES = ("moe_w13_big", "moe_w2_big")


def _moe_factor(model: Model, tokens: int) -> float:
    """Marlin time over that of one token: experts touched grow almost linearly at first."""
    touched = EXPERTS * (1 - (1 - ACTIVE / EXPERTS) ** tokens)
    return min(touched / ACTIVE, 14.0) * model.reading + (1 - model.reading)


def target_pass(model: Model, tokens: int, is_prefill: bool = False) -> list[Work]:
    """The target model's forward for `tokens` tokens, without its logits."""
    return [
        *embedding(model, tokens),
        work("memset", 0.9, nbytes=8192),
        *(w for layer in range(model.layers) for w in _layer(model, layer, tokens, is_prefill)),
        work("norm_add", 3.6),
    ]


def embedding(model: Model, tokens: int) -> list[Work]:
    """Vocabulary-parallel embedding with its AllReduce."""
    first = [work("embed_fused", 1.8)] if model.has_fused_embedding else []
    return [*first, work("embed", 2.4), model.reduce(tokens)]


def _layer(model: Model, layer: int, tokens: int, is_prefill: bool) -> list[Work]:
    attention = mla_attention(model, tokens, is_prefill)
    mlp = _moe(model, tokens) if layer else _dense(model, tokens)
    return [work("norm_add" if layer else "norm", 3.6), *attention, work("norm_add", 3.6), *mlp]


def mla_attention(model: Model, tokens: int, is_prefill: bool = False) -> list[Work]:
    """Projections, latent attention and output projection with its AllReduce."""
    f = 1 + model.growth * (tokens - 1)
    big = "gemm_big" if is_prefill else ""
    return [
        work(big or "fused_a", 5.6 * f, early=True),
        work("red_norm", 2.0),
        work(big or "gemm_q_b", 3.3 * f, early=True),
        work(big or "bmm_uk", 3.0 * f),
        work("kv_mla", 1.8, eager=True),
        work("fa3" if is_prefill else "mla", 9.8 * f, eager=True),
        *([] if is_prefill else [work("mla_combine", 2.8, eager=True)]),
        work(big or "bmm_uv", 3.0 * f),
        work(big or "gemm_o", 4.3 * f, early=True),
        model.reduce(tokens),
    ]


def _dense(model: Model, tokens: int) -> list[Work]:
    return [
        work("gemm_gate_up", 12.0),
        work("act", 1.6),
        work("gemm_down", 8.0, early=True),
        model.reduce(tokens),
    ]


def _moe(model: Model, tokens: int) -> list[Work]:
    f = _moe_factor(model, tokens)
    w13, w2 = model.moe if tokens <= 64 else BIG_TILES
    return [
        work("router", 3.0),
        work("gemm_gate_up", 4.0, AUX, joins=7),
        work("act", 1.4, AUX),
        work("gemm_down", 3.1, AUX),
        work("topk", 2.6, early=True),
        work("align", 2.4),
        work("sort", 1.8),
        work(w13, 16.8 * f),
        work("act", 1.6),
        work(w2, 13.8 * f, early=True),
        work("moe_sum", 1.9),
        work("add", 1.5, joins=AUX),
        model.reduce(tokens),
    ]


def pieces(items: list[Work]) -> list[list[Work]]:
    """Split a pass as piecewise graphs do: at eager work and after an attention's AllReduce."""
    result: list[list[Work]] = [[]]
    for item in items:
        last = result[-1]
        is_after_attention = bool(last) and last[0].kernel.key in ("bmm_uv", "gemm_big")
        is_cut = is_after_attention and last[-1].kernel.key == "norm_add"
        if last and (item.eager != last[-1].eager or is_cut):
            result.append([])
        result[-1].append(item)
    return result


def draft_before_attention(tokens: int, is_first: bool) -> list[Work]:
    """EAGLE-3 head up to its attention; the first pass fuses the target's hidden states."""
    first = [work("gemm_big", 24.0)] if is_first else []
    return [work("poi_cat", 1.7), *first, work("norm", 2.6), work("gemm_q_b", 11.0 + 0.1 * tokens)]


def draft_attention() -> list[Work]:
    """The draft layer's attention."""
    return [
        work("rope", 1.6, eager=True),
        work("kv_flash", 1.7, eager=True),
        work("fa3", 9.0, eager=True),
    ]


def draft_after_attention(model: Model, tokens: int) -> list[Work]:
    """The draft layer behind its attention: two AllReduces."""
    return [
        work("gemm_o", 9.0),
        model.reduce(tokens),
        work("norm_add", 2.8),
        work("gemm_gate_up", 31.0),
        work("act", 1.8),
        work("gemm_down", 17.0),
        model.reduce(tokens),
        work("norm_add", 2.8),
    ]


def draft_pass(model: Model, tokens: int, is_first: bool) -> list[Work]:
    """One whole pass of the drafter, without its logits."""
    return [
        *draft_before_attention(tokens, is_first),
        *draft_attention(),
        *draft_after_attention(model, tokens),
    ]
