"""config.json of a model: what drafting depends on, as vLLM reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.draft_check.files import json_object

_NESTED = ("text_config", "llm_config", "language_config", "transformer_layer_config")
"""Where models that see or hear, and the speculators format, keep the language model's part."""

_LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "max_seq_length",
)
_SCALED_ALREADY = ("su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling")
_LARGEST = 2**40
_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Config:
    """A config.json; values of an unexpected type count as missing."""

    outer: Mapping[str, object]
    text: Mapping[str, object]

    def value(self, key: str) -> object:
        """What the language model's part has under a key, else the outer object; else None."""
        found = self.text.get(key)
        return self.outer.get(key) if found is None else found

    def number(self, key: str) -> int | None:
        """A count; None where there is none or what is there is none."""
        return _count(self.value(key))

    def word(self, key: str) -> str:
        """A name; empty where there is none."""
        found = self.value(key)
        return found[:_SHOWN] if isinstance(found, str) else ""

    def mapping(self, key: str) -> Mapping[str, object]:
        """An object; empty where there is none."""
        found = self.value(key)
        return found if isinstance(found, dict) else {}

    def layer_ids(self, key: str) -> list[int]:
        """A list of layers of the language model or of its `eagle_config`; empty without one."""
        found = self.value(key) or self.mapping("eagle_config").get(key)
        return layer_ids(found)

    @property
    def model_type(self) -> str:
        """`model_type` of the outer object, by which vLLM tells what a model is."""
        found = self.outer.get("model_type")
        return found[:_SHOWN] if isinstance(found, str) else ""

    @property
    def architectures(self) -> list[str]:
        """Architectures as config.json names them."""
        found = self.outer.get("architectures") or self.text.get("architectures")
        names = found if isinstance(found, list) else []
        return [name[:_SHOWN] for name in names if isinstance(name, str)]

    @property
    def architecture(self) -> str:
        """The first architecture; empty where there is none."""
        return next(iter(self.architectures), "")

    @property
    def n_heads(self) -> int | None:
        """Attention heads."""
        return self.number("num_attention_heads")

    @property
    def dtype(self) -> str:
        """Element type of the weights."""
        return self.word("dtype") or self.word("torch_dtype")

    @property
    def quantization(self) -> str:
        """Method by which the weights are quantised, and bits where told; empty if they are not."""
        found = self.mapping("quantization_config")
        method, bits = found.get("quant_method"), found.get("bits")
        name = method[:_SHOWN] if isinstance(method, str) else "unnamed" if found else ""
        return f"{name} {bits} bits" if name and _count(bits) else name

    @property
    def rope(self) -> Mapping[str, object]:
        """Parameters of the rotary embedding: `rope_theta`, `rope_type`, `factor`, ..."""
        scaling = self.mapping("rope_parameters") or self.mapping("rope_scaling")
        found = {"rope_theta": self.value("rope_theta"), **scaling}
        kind = found.get("rope_type") or found.get("type") or "default"
        return {**found, "rope_type": kind if isinstance(kind, str) else "default"}

    @property
    def n_positions(self) -> int | None:
        """Longest sequence, in tokens.

        Source: vllm/config/model.py, _get_and_verify_max_len (0.32.0), without the tokenizer's own.
        """
        lengths = [length for length in map(self.number, _LENGTHS) if length]
        if not lengths:
            return None
        factor = self.rope.get("factor")
        is_scaled = self.rope["rope_type"] in _SCALED_ALREADY or "gemma3" in self.model_type
        if is_scaled or not isinstance(factor, int | float) or not 1 < factor < _LARGEST:
            return min(lengths)
        return int(min(lengths) * factor)


def read_config(folder: Path) -> Config:
    """The config.json of a folder. Raises ModelError."""
    outer = json_object(folder / "config.json")
    text: object = outer
    for key in ("thinker_config", *_NESTED):
        inner = text.get(key) if isinstance(text, dict) else None
        text = inner if isinstance(inner, dict) else text
    return Config(outer, text if isinstance(text, dict) else outer)


def layer_ids(found: object) -> list[int]:
    """Layer numbers of a list; what is no integer is left out."""
    numbers: Sequence[object] = found if isinstance(found, list) else []
    return [n for n in numbers if isinstance(n, int) and not isinstance(n, bool)]


def _count(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < _LARGEST else None
