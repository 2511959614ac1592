"""Method eagle3: a head that reads hidden states of several layers of the target."""

from collections.abc import Iterator

from tracekit.draft_check import known, rules
from tracekit.draft_check.config import layer_ids
from tracekit.draft_check.eagle import ONE_GPU, architecture_rules, fc_rules, layer_rules
from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.model import Model

LAYER_IDS = "eagle_aux_hidden_state_layer_ids"
_USUAL = 3
"""Layers that a head reads where its config.json does not say how many."""


def obstacles(target: Model, draft: Model) -> Iterator[Obstacle]:
    """What stands against the draft as an EAGLE-3 head."""
    if draft.kind in ("EAGLE head", "Medusa heads"):
        method = "eagle" if draft.kind == "EAGLE head" else "medusa"
        yield Obstacle("fatal", f"no EAGLE-3 head: {draft.kind}", f"use method {method}")
        return
    if draft.kind == "whole model" and draft.weights.has_all_names:
        yield Obstacle("fatal", "no EAGLE-3 head: its weights have no fc", "use method draft_model")
        return
    yield from architecture_rules(draft, "Eagle3", named)
    yield from _target_rules(target)
    yield from rules.read_rules(draft)
    if draft.config.mapping("eagle_config").get("use_aux_hidden_state") is not False:
        yield from _layer_rules(target, draft)
    hidden = draft.config.number("hidden_size")
    yield from layer_rules(draft, hidden and 2 * hidden)
    yield from rules.hidden_rules(target, draft, read_hidden_size(draft))
    yield from _vocabulary_rules(target, draft)
    yield from rules.tensor_parallel_rules(target, draft, ONE_GPU)


def named(architecture: str) -> str:
    """The architecture that vLLM makes of a draft's for method eagle3.

    Source: EAGLEConfig in vllm/transformers_utils/configs/eagle.py (0.32.0).
    """
    is_named = architecture.startswith("Eagle3") or architecture.endswith("Eagle3")
    return architecture if is_named else f"Eagle3{architecture}"


def read_hidden_size(draft: Model) -> int | None:
    """Hidden size of the target that a head is made for."""
    return draft.config.number("target_hidden_size") or draft.config.number("hidden_size")


def n_read_layers(draft: Model) -> int:
    """Hidden states that a head's fc joins.

    Source: LlamaModel.__init__ in vllm/model_executor/models/llama_eagle3.py, deepseek_eagle3.py
    and qwen3_eagle3.py (0.32.0): only Qwen3's counts a list that stands outside of `eagle_config`.
    """
    config = draft.config
    is_qwen = "Qwen3ForCausalLM" in named(known.loaded_architecture(config))
    keys = ("num_aux_layers", "num_aux_hidden_states") if is_qwen else ("num_aux_hidden_states",)
    for key in keys:
        if told := config.number(key):
            return told
    inner = layer_ids(config.mapping("eagle_config").get(LAYER_IDS))
    listed = config.layer_ids(LAYER_IDS) if is_qwen else inner
    return len(listed) or _USUAL


def default_layers(n_layers: int) -> tuple[int, int, int]:
    """Layers that a target gives where a head does not name them.

    Source: get_eagle3_default_aux_hidden_state_layers in
    vllm/model_executor/models/interfaces.py (0.32.0).
    """
    return (2, n_layers // 2, n_layers - 3)


def given_layers(draft: Model, n_layers: int) -> list[int]:
    """Distinct layers of the target whose states a head gets.

    Source: EagleModelMixin in vllm/model_executor/models/interfaces.py: each is given once, and
    those that the target does not have are not given (0 is the embedding).
    """
    asked = draft.config.layer_ids(LAYER_IDS) or default_layers(n_layers)
    return sorted({layer for layer in asked if 0 <= layer <= n_layers})


def _target_rules(target: Model) -> Iterator[Obstacle]:
    name = target.config.architecture
    if not known.use_of(name):
        why = f"whether {name or 'the target'} gives its hidden states is not known"
        yield Obstacle("doubt", why, f"{rules.VLLM} has no such model")
    elif not known.has_eagle3(name):
        why = f"{name} does not support EAGLE-3 in {rules.VLLM}"
        yield Obstacle("fatal", why, "take an EAGLE head or a draft model")


def _layer_rules(target: Model, draft: Model) -> Iterator[Obstacle]:
    n_read, hidden = n_read_layers(draft), read_hidden_size(draft)
    yield from fc_rules(draft, hidden and n_read * hidden, f"{n_read} x the target's hidden")
    n_layers = target.config.number("num_hidden_layers")
    if not n_layers:
        yield Obstacle("doubt", "the target's number of layers is not told", "look at config.json")
        return
    given = given_layers(draft, n_layers)
    if len(given) == n_read:
        yield from _runner_rules(draft, n_layers)
        return
    told = draft.config.layer_ids(LAYER_IDS)
    asked = f"its {LAYER_IDS} {told}" if told else f"default layers {default_layers(n_layers)}"
    why = f"{asked} are {len(given)} of the target's {n_layers}; its fc joins {n_read}"
    yield Obstacle("fatal", why, f'write "{LAYER_IDS}": [...] as it was trained into its config')


def _runner_rules(draft: Model, n_layers: int) -> Iterator[Obstacle]:
    """Layers that only one of vLLM's two runners is told of.

    Source: get_eagle3_aux_layers_from_config in vllm/v1/worker/gpu/spec_decode/eagle/
    eagle3_utils.py (0.32.0) does not look for them in `eagle_config`; gpu_model_runner.py does.
    """
    inner = layer_ids(draft.config.mapping("eagle_config").get(LAYER_IDS))
    is_alone = inner and not layer_ids(draft.config.value(LAYER_IDS))
    if is_alone and set(inner) != set(default_layers(n_layers)):
        why = f"its {LAYER_IDS} stand in eagle_config alone, where the V2 runner does not look"
        yield Obstacle("doubt", why, "write them beside the other keys of its config.json too")


def _vocabulary_rules(target: Model, draft: Model) -> Iterator[Obstacle]:
    """Source: Eagle3LlamaForCausalLM in vllm/model_executor/models/llama_eagle3.py (0.32.0)."""
    config, of_target = draft.config, target.config.number("vocab_size")
    inputs = config.number("vocab_size")
    outputs = config.number("draft_vocab_size") or inputs
    if of_target and inputs and inputs != of_target:
        why = f"vocabulary of {inputs:,} entries; the target has {of_target:,}"
        yield Obstacle("fatal" if outputs == of_target else "doubt", why, rules.OTHER_HEAD)
    if draft.weights.is_complete:
        yield from _head_rules(draft, of_target, outputs)
        yield from _embedding_rules(target, draft)


def _head_rules(draft: Model, of_target: int | None, outputs: int | None) -> Iterator[Obstacle]:
    if not (of_target and outputs):
        return
    if draft.d2t is None and outputs != of_target:
        why = f"draft_vocab_size {outputs:,} without a d2t table: drafts mean the wrong tokens"
        yield Obstacle("doubt", why, "get the file that has d2t")
    elif draft.d2t is not None and draft.d2t.shape[:1] != (outputs,):
        why = f"its d2t has {draft.d2t} entries, draft_vocab_size is {outputs:,}"
        yield Obstacle("fatal", why, "repair draft_vocab_size in its config.json")
    if draft.head is None and outputs != of_target:
        why = f"no lm_head of its own: it drafts by the first {outputs:,} of the target's rows"
        yield Obstacle("doubt", why, "get the file that has its lm_head")
    elif draft.head and draft.head.shape[:1] != (outputs,) and not draft.head.is_packed:
        why = f"its lm_head is {draft.head}, draft_vocab_size is {outputs:,}"
        yield Obstacle("fatal", why, "repair draft_vocab_size in its config.json")


def _embedding_rules(target: Model, draft: Model) -> Iterator[Obstacle]:
    """An embedding is shared from the target only where it is as wide as the draft."""
    of_target, of_draft = target.config.number("hidden_size"), draft.config.number("hidden_size")
    if draft.embedding is None and of_target and of_draft and of_target != of_draft:
        why = f"no embedding of its own, and the target's is {of_target:,} wide, not {of_draft:,}"
        yield Obstacle("fatal", why, "get the file that has its embed_tokens")
