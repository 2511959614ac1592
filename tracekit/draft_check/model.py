"""A model folder: everything of it that drafting depends on."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tracekit.draft_check import known
from tracekit.draft_check.config import Config, read_config
from tracekit.draft_check.files import is_there, json_object
from tracekit.draft_check.tokenizer import Tokenizer, read_tokenizer
from tracekit.draft_check.weights import Tensor, Weights, read_weights
from tracekit.errors import ModelError

EMBEDDING = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "tok_embeddings.weight")
HEAD = ("lm_head.weight", "output.weight")
_MEDUSA = re.compile(r"(?:medusa_heads\.|lm_heads\.|blocks\.)?(\d+)\.")


@dataclass(frozen=True)
class Model:
    """What the files of one folder tell."""

    folder: Path
    config: Config
    tokenizer: Tokenizer
    weights: Weights
    eos_ids: tuple[int, ...]
    """Of generation_config.json, else of config.json."""

    problems: tuple[str, ...]
    """Files that are damaged or missing, each with what to do."""

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.name

    @cached_property
    def embedding(self) -> Tensor | None:
        """Input embedding; None where no header has it."""
        return self.weights.find(*EMBEDDING)

    @cached_property
    def head(self) -> Tensor | None:
        """Output layer; None where no header has it."""
        return self.weights.find(*HEAD)

    @cached_property
    def fc(self) -> Tensor | None:
        """The layer of an EAGLE head that joins its inputs; None where no header has it."""
        return self.weights.find("fc.weight")

    @cached_property
    def d2t(self) -> Tensor | None:
        """Map from the draft's vocabulary to the target's; None where no header has it."""
        return self.weights.find("d2t", "draft_id_to_target_id")

    @cached_property
    def n_medusa_heads(self) -> int:
        """Number of Medusa heads with weights; 0 where there are none.

        Source: Medusa._remap_old_checkpoint_key in vllm/model_executor/models/medusa.py (0.32.0).
        """
        numbers = {m[1] for name in self.weights.names if (m := _MEDUSA.match(name))}
        return len(numbers)

    @cached_property
    def has_mtp_weights(self) -> bool:
        """Whether a tensor's name is of a multi-token-prediction layer.

        Source: get_spec_layer_idx_from_weight_name in vllm/model_executor/models/utils.py: such
        layers follow the model's own; else `mtp` is in their names (qwen3_next_mtp.py, mimo_mtp.py,
        ernie_mtp.py, longcat_flash_mtp.py; 0.32.0).
        """
        first = self.config.number("num_hidden_layers") or 0
        marks = ("mtp", "eh_proj", f".layers.{first}.")
        return any(mark in name for name in self.weights.names for mark in marks)

    @cached_property
    def kind(self) -> known.Kind:
        """What its weights, else its architecture, make of it."""
        architecture = self.config.architecture
        if self.weights.names:
            return self._kind_by_weights()
        if self._is_called_third:
            return "EAGLE-3 head"
        if architecture.startswith("Eagle") and known.use_of(architecture) == "drafter":
            return "EAGLE head"
        if "medusa" in (architecture + self.config.model_type).lower():
            return "Medusa heads"
        return known.kind_of(architecture)

    @property
    def _is_called_third(self) -> bool:
        told = self.config.word("speculators_model_type")
        return "Eagle3" in self.config.architecture or told == "eagle3"

    def _kind_by_weights(self) -> known.Kind:
        if "fc.weight" in {name.rpartition("model.")[2] for name in self.weights.names}:
            has_third = self.weights.find("hidden_norm.weight") or self.d2t
            is_third = has_third or self._is_called_third
            return "EAGLE-3 head" if is_third else "EAGLE head"
        if self.n_medusa_heads and not any("embed" in name for name in self.weights.names):
            return "Medusa heads"
        return known.kind_of(self.config.architecture)


def read_model(folder: Path) -> Model:
    """The model in a folder. Raises ModelError where it has no readable config.json."""
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such folder; name one with a model's config.json")
    try:
        config = read_config(folder)
    except ModelError as error:
        raise ModelError(f"{folder}/{error}") from error
    tokenizer, weights, problems = read_tokenizer(folder), read_weights(folder), []
    told: object = None
    if is_there(folder / "generation_config.json"):
        try:
            told = json_object(folder / "generation_config.json").get("eos_token_id")
        except ModelError as error:
            problems.append(str(error))
    eos = told if told is not None else config.value("eos_token_id")
    numbers = eos if isinstance(eos, list) else [eos]
    return Model(
        folder=folder,
        config=config,
        tokenizer=tokenizer,
        weights=weights,
        eos_ids=tuple(n for n in numbers if type(n) is int),
        problems=(*problems, *tokenizer.problems, *weights.problems),
    )
