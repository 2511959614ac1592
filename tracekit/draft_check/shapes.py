"""Matrices of plain layers: which there have to be, and of which sizes config.json makes them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tracekit.draft_check.config import Config
from tracekit.draft_check.finding import Obstacle, Weight
from tracekit.draft_check.layers import DOWNLOAD, PLAIN
from tracekit.draft_check.model import Model
from tracekit.draft_check.weights import Tensor

_NORMS = ("input_layernorm", "post_attention_layernorm")
_PART = re.compile(r"(?:.*\.)?(?:midlayer|layers\.(\d{1,6}))\.((?:self_attn|mlp)\.\w+|\w+)\.weight")
_JOINED = ("self_attn.qkv_proj", "mlp.gate_up_proj", "attention.wq")
"""Matrices of checkpoints that are laid out otherwise."""

_MOST_LAYERS = 64
"""Of a head: those seen have one."""

_REPAIR = "repair its config.json, or take another copy of its weights"


@dataclass(frozen=True, slots=True)
class Size:
    """Rows and columns of a matrix as vLLM makes it; None where config.json does not tell."""

    rows: int | None
    columns: int | None
    cut: int = 0
    """The axis that tensor parallelism divides: vLLM takes the first part of a longer one.

    Source: weight_loader of ColumnParallelLinear and RowParallelLinear in
    vllm/model_executor/layers/linear.py (0.32.0), and its start with such weights.
    """

    def misfit(self, tensor: Tensor) -> Weight | None:
        """Whether a tensor does not fit: `fatal`; `doubt` where only its first part is taken."""
        wanted = (self.rows, self.columns)
        if tensor.is_packed:
            return None
        if len(tensor.shape) != len(wanted):
            return "fatal"
        pairs = list(zip(tensor.shape, wanted, strict=True))
        wrong = [axis for axis, (size, told) in enumerate(pairs) if told and size != told]
        if not wrong:
            return None
        is_longer = wrong == [self.cut] and tensor.shape[self.cut] > (wanted[self.cut] or 0)
        return "doubt" if is_longer else "fatal"

    def text(self, tensor: Tensor) -> str:
        """The size, with that of a tensor where nothing else is told."""
        wanted = zip((self.rows, self.columns), (*tensor.shape, 0, 0), strict=False)
        return " x ".join(f"{told or size:,}" for told, size in wanted)


Parts = Mapping[int, Mapping[str, tuple[str, Tensor]]]
"""For each layer its parts, each with its whole name and its tensor."""

Sizes = Mapping[str, Size]


def matrix_rules(
    model: Model, architecture: str, given: str, n_layers: int = 0, n_inputs: int | None = None
) -> Iterator[Obstacle]:
    """Matrices of plain layers that are missing, or of other sizes than config.json says.

    `architecture` is that of the layers; of others, and of packed or quantised weights, nothing is
    known. `given` is what a model with missing ones gives: vLLM 0.32.0 starts all the same, and
    multiplies by what was in memory. Layers without any weight are looked at up to `n_layers`.
    `n_inputs`: of the first layer's attention, where not the hidden size.
    """
    if architecture not in PLAIN or model.config.quantization or not model.weights.is_complete:
        return
    parts = _parts(model)
    if any(part in _JOINED for layer in parts.values() for part in layer):
        return
    sizes = _sizes(model.config, architecture)
    layers = sorted(parts.keys() | range(min(n_layers, _MOST_LAYERS)))
    lacking = [
        f"layers.{i}.{part}" for i in layers for part in sizes if part not in parts.get(i, {})
    ]
    yield from _missing_rules(lacking, given)
    yield from _size_rules(parts, sizes, _sizes(model.config, architecture, n_inputs))


def norm_rules(model: Model) -> Iterator[Obstacle]:
    """A norm of a plain model that is missing, without which vLLM does not start.

    Source: track_weights_loading in vllm/model_executor/model_loader/default_loader.py (0.32.0).
    """
    if model.config.architecture not in PLAIN or model.config.quantization:
        return
    layers = {layer: parts for layer, parts in _parts(model).items() if "self_attn.q_proj" in parts}
    lacking = [
        f"layers.{i}.{norm}" for i in sorted(layers) for norm in _NORMS if norm not in layers[i]
    ]
    if layers and not model.weights.find("norm.weight"):
        lacking.append("norm")
    if lacking:
        more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        yield Obstacle("fatal", f"its weights lack {lacking[0]}{more}", DOWNLOAD)


def _parts(model: Model) -> Parts:
    found: dict[int, dict[str, tuple[str, Tensor]]] = {}
    for name, tensor in model.weights.tensors.items():
        if named := _PART.fullmatch(name):
            found.setdefault(int(named[1] or 0), {})[named[2]] = name, tensor
    return found


def _sizes(config: Config, architecture: str, n_inputs: int | None = None) -> Sizes:
    """Source: llama, mistral, qwen2 and qwen3 in vllm/model_executor/models (0.32.0)."""
    hidden, inner = config.number("hidden_size"), config.number("intermediate_size")
    n_heads, n_kv = config.n_heads, config.number("num_key_value_heads")
    if n_kv is None and architecture == "LlamaForCausalLM":
        n_kv = n_heads
    width = _head_width(config, architecture)
    queries = width * n_heads if width and n_heads else None
    keys = Size(width * n_kv if width and n_kv else None, n_inputs or hidden)
    return {
        "self_attn.q_proj": Size(queries, n_inputs or hidden),
        "self_attn.k_proj": keys,
        "self_attn.v_proj": keys,
        "self_attn.o_proj": Size(hidden, queries, cut=1),
        "mlp.gate_proj": Size(inner, hidden),
        "mlp.up_proj": Size(inner, hidden),
        "mlp.down_proj": Size(hidden, inner, cut=1),
    }


def _head_width(config: Config, architecture: str) -> int | None:
    """Width of an attention head; Qwen2 has no head_dim, and Qwen3's is not hidden / heads."""
    told = config.number("head_dim")
    if architecture == "Qwen3ForCausalLM" or (told and architecture != "Qwen2ForCausalLM"):
        return told
    hidden, n_heads = config.number("hidden_size"), config.n_heads
    return hidden // n_heads if hidden and n_heads else None


def _missing_rules(lacking: list[str], given: str) -> Iterator[Obstacle]:
    if lacking:
        more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        why = f"its weights lack {lacking[0]}{more}: {given} are random"
        yield Obstacle("doubt", why, DOWNLOAD)


def _size_rules(parts: Parts, sizes: Sizes, of_first: Sizes) -> Iterator[Obstacle]:
    """The first misfit of each weight, with how many follow it."""
    found = list(_misfits(parts, sizes, of_first))
    told = [(weight, text) for weight, text in found if weight == "fatal"] or found
    if told:
        weight, text = told[0]
        more = f" ({len(found) - 1:,} more do not fit)" if len(found) > 1 else ""
        part = ", of which vLLM takes the first part" if weight == "doubt" else ""
        yield Obstacle(weight, f"{text}{part}{more}", _REPAIR)


def _misfits(parts: Parts, sizes: Sizes, of_first: Sizes) -> Iterator[tuple[Weight, str]]:
    for layer in sorted(parts):
        for part, size in (sizes if layer else of_first).items():
            if part in parts[layer]:
                name, tensor = parts[layer][part]
                if weight := size.misfit(tensor):
                    yield weight, f"its {name} is {tensor}, not {size.text(tensor)}"
