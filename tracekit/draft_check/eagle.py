"""Method eagle: a head that reads the target's last hidden states (EAGLE-1 and EAGLE-2)."""

from collections.abc import Callable, Iterator

from tracekit.draft_check import known, rules
from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.model import Model
from tracekit.draft_check.shapes import matrix_rules

ONE_GPU = '"draft_tensor_parallel_size": 1'


def obstacles(target: Model, draft: Model) -> Iterator[Obstacle]:
    """What stands against the draft as an EAGLE head."""
    if draft.kind in ("EAGLE-3 head", "Medusa heads"):
        method = "eagle3" if draft.kind == "EAGLE-3 head" else "medusa"
        yield Obstacle("fatal", f"no EAGLE head: {draft.kind}", f"use method {method}")
        return
    if draft.kind == "whole model" and draft.weights.has_all_names:
        yield Obstacle("fatal", "no EAGLE head: its weights have no fc", "use method draft_model")
        return
    yield from architecture_rules(draft, "Eagle", prefixed)
    yield from rules.read_rules(draft)
    hidden = draft.config.number("hidden_size")
    yield from rules.hidden_rules(target, draft, hidden)
    yield from fc_rules(draft, hidden and 2 * hidden, "2 x hidden")
    yield from layer_rules(draft)
    yield from _vocabulary_rules(target, draft)
    yield from rules.tensor_parallel_rules(target, draft, ONE_GPU)


def prefixed(architecture: str) -> str:
    """The architecture that vLLM makes of a draft's for method eagle.

    Source: EAGLEConfig in vllm/transformers_utils/configs/eagle.py (0.32.0).
    """
    return architecture if architecture.startswith("Eagle") else f"Eagle{architecture}"


def architecture_rules(
    draft: Model, beginning: str, renamed: Callable[[str], str]
) -> Iterator[Obstacle]:
    """A head whose architecture vLLM does not know.

    Source: _SPECULATIVE_DECODING_MODELS in vllm/model_executor/models/registry.py (0.32.0).
    """
    name = renamed(known.loaded_architecture(draft.config))
    if known.use_of(name) != "drafter":
        there = ", ".join(known.drafters(beginning)[:4])
        yield Obstacle("fatal", f"{rules.VLLM} has no {name}", f"it has {there}, ...")


def layer_rules(draft: Model, n_inputs: int | None = None) -> Iterator[Obstacle]:
    """Attention and MLP of a head; `n_inputs` are those of its first layer's attention.

    vLLM 0.32.0 starts a head with missing weights, as its load_weights does not tell what came.
    """
    of_layers = known.loaded_architecture(draft.config).replace("Eagle3", "").replace("Eagle", "")
    n_layers = draft.config.number("num_hidden_layers") or 1
    yield from matrix_rules(draft, of_layers, "drafts", n_layers, n_inputs)


def fc_rules(draft: Model, n_inputs: int | None, words: str) -> Iterator[Obstacle]:
    """A joining layer whose shape is not what vLLM makes for it."""
    hidden, fc = draft.config.number("hidden_size"), draft.fc
    if fc is None or fc.is_packed or not (hidden and n_inputs):
        return
    if fc.shape != (hidden, n_inputs):
        why = f"its fc is {fc}, not {hidden:,} x {n_inputs:,} ({words})"
        yield Obstacle("fatal", why, "repair its config.json, or take another head")


def _vocabulary_rules(target: Model, draft: Model) -> Iterator[Obstacle]:
    """Source: _maybe_share_embeddings, _maybe_share_lm_head in llm_base_proposer.py (0.32.0)."""
    of_target, of_draft = target.config.number("vocab_size"), draft.config.number("vocab_size")
    if of_target and of_draft and of_target != of_draft:
        why = f"vocabulary of {of_draft:,} entries; the target has {of_target:,}"
        yield Obstacle("doubt", why, rules.OTHER_HEAD)
    elif draft.tokenizer.ids:
        yield from rules.tokenizer_rules(target, draft, rules.OTHER_HEAD)
