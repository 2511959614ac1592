"""Layers of a whole model: config.json says how many there are, names of weights say which."""

import re
from collections.abc import Iterator
from itertools import count, islice

from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.model import Model

DOWNLOAD = "download all of its files"
PLAIN = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
"""Architectures whose layers all have the same matrices, of sizes that config.json tells."""

_OF_LANGUAGE = (
    "model|language_model|text_model|llm|thinker|transformer|decoder|gpt_neox|backbone"
    "|transformer\\.encoder"
)
_LAYER = re.compile(rf"(?:(?:{_OF_LANGUAGE})\.)*(?:layers|h|blocks)\.(\d{{1,6}})\.")
"""`model.layers.3.` and its kin; not layers of what sees or hears."""

_USUAL = "model.embed_tokens.weight"
"""Beside it stand layers of the usual names, if any do."""

_SHOWN = 3


def layer_rules(model: Model) -> Iterator[Obstacle]:
    """Layers without any weight, or that config.json does not count.

    Source: track_weights_loading in vllm/model_executor/model_loader/default_loader.py (0.32.0)
    refuses norms that are missing.
    """
    n = model.config.number("num_hidden_layers")
    if not n:
        return
    numbers = {int(m[1]) for name in model.weights.tensors if (m := _LAYER.match(name))}
    is_usual = numbers or _USUAL in model.weights.tensors
    if not is_usual or model.config.value("block_configs"):  # which leave out whole layers
        yield Obstacle("doubt", f"whether its weights have all {n:,} layers cannot be told")
        return
    if lacking := n - sum(number < n for number in numbers):
        first = islice((i for i in count() if i not in numbers), min(lacking, _SHOWN))
        why = f"its weights lack {_named(list(first), lacking)}; config.json says {n:,} layers"
        yield Obstacle("fatal", why, DOWNLOAD)
    yield from _surplus_rules(model, sorted(number for number in numbers if number >= n), n)


def _surplus_rules(model: Model, surplus: list[int], n: int) -> Iterator[Obstacle]:
    """Elsewhere further layers may be those for further tokens.

    Source: AutoWeightsLoader in vllm/model_executor/models/utils.py (0.32.0) refuses weights for
    which it has no place.
    """
    if surplus and model.config.architecture in PLAIN:
        first = _named(surplus[:_SHOWN], len(surplus))
        why = f"its weights have {first} too; config.json says {n:,} layers"
        yield Obstacle("fatal", why, "repair num_hidden_layers in its config.json")


def _named(first: list[int], n: int) -> str:
    """Layers by their numbers: `layers 3, 4, 5 and 7 more`."""
    more = f" and {n - len(first):,} more" if n > len(first) else ""
    return f"layer{'s' if n > 1 else ''} {', '.join(map(str, first))}{more}"
