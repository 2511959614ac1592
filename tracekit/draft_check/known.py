"""What vLLM knows: architectures, and models with multi-token-prediction layers."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from tracekit.draft_check.config import Config

Kind = Literal[
    "whole model", "EAGLE head", "EAGLE-3 head", "Medusa heads", "MTP layers", "other drafter"
]


@dataclass(frozen=True, slots=True)
class Mtp:
    """How vLLM finds multi-token-prediction layers in a model of one family."""

    drafter: str
    model_types: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    default: int = 0
    only_with_layers: bool = False

    def n_layers(self, config: Config) -> int:
        """Layers that predict further tokens."""
        told = (config.number(key) for key in self.layers)
        return next((n for n in told if n is not None), self.default)


def version() -> str:
    """The vLLM whose source the facts are from."""
    return str(_facts()["version"])


def use_of(architecture: str) -> str:
    """`model`, `drafter`, or empty where vLLM has no such architecture."""
    return _models().get(architecture, ("", ""))[0]


def has_eagle3(architecture: str) -> bool:
    """Whether a target of the architecture gives away its hidden states for EAGLE-3."""
    return "eagle3" in _models().get(architecture, ("", ""))[1]


def drafters(beginning: str) -> list[str]:
    """Architectures of drafters that begin so."""
    found = [name for name, (use, _) in _models().items() if use == "drafter"]
    return [name for name in found if name.startswith(beginning)]


def kind_of(architecture: str) -> Kind:
    """What an architecture is of, where no weights tell."""
    if use_of(architecture) != "drafter":
        return "whole model"
    return "MTP layers" if "mtp" in architecture.lower() else "other drafter"


def mtp_of(config: Config) -> Mtp | None:
    """The family of a model; None where vLLM takes no model of its type for such layers."""
    for family in _families():
        of_type = config.model_type in family.model_types
        if of_type or config.architecture in family.architectures:
            return None if family.only_with_layers and not family.n_layers(config) else family
    return None


def loaded_architecture(config: Config) -> str:
    """The architecture that vLLM takes a draft's config.json for, before a method's own prefix.

    Source: hf_config_override in vllm/config/speculative.py and update_eagle3 in
    vllm/transformers_utils/configs/speculators/algos.py (0.32.0).
    """
    if config.word("speculators_model_type") == "eagle3":
        return _OF_SPECULATORS.get(config.word("model_type"), "")
    family = mtp_of(config)
    return family.drafter if family else config.architecture


_OF_SPECULATORS = {"qwen3": "Eagle3Qwen3ForCausalLM", "llama": "Eagle3LlamaForCausalLM"}


@functools.cache
def _models() -> Mapping[str, tuple[str, str]]:
    text = files("tracekit.draft_check").joinpath("vllm_models.tsv").read_text()
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    return {architecture: (use, supports) for architecture, use, supports in rows}


@functools.cache
def _facts() -> Mapping[str, Any]:
    return tomllib.loads(files("tracekit.draft_check").joinpath("vllm.toml").read_text())


@functools.cache
def _families() -> tuple[Mtp, ...]:
    return tuple(map(_family, _facts()["mtp"]))


def _family(row: Mapping[str, Any]) -> Mtp:
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    return Mtp(**fields)
