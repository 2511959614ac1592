"""Method draft_model: a small language model drafts."""

from collections.abc import Iterator

from tracekit.draft_check import known, rules
from tracekit.draft_check.agreement import agreement
from tracekit.draft_check.contents import content_rules
from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.model import Model

_ANY_VOCABULARY = '"use_heterogeneous_vocab": true'
"""Source: vllm/config/speculative.py and vllm/v1/spec_decode/vocab_mapping.py (0.32.0)."""

_SAME_FAMILY = f"take a draft of the same family, or {_ANY_VOCABULARY}"


def obstacles(target: Model, draft: Model) -> Iterator[Obstacle]:
    """What stands against the draft as a language model of its own."""
    if draft.kind != "whole model":
        found = {"EAGLE head": "eagle", "EAGLE-3 head": "eagle3", "Medusa heads": "medusa"}
        way_out = f"use method {found.get(draft.kind, 'mtp')}" if draft.kind in found else ""
        yield Obstacle("fatal", f"no whole model: {draft.kind}", way_out)
        return
    yield from _type_rules(draft)
    yield from rules.name_rules(draft, "draft_model")
    yield from rules.read_rules(draft)
    yield from content_rules(draft, "drafts")
    yield from _vocabulary_rules(target, draft)
    yield from _position_rules(target, draft)
    yield from rules.tensor_parallel_rules(target, draft, "serve with another -tp")


def _type_rules(draft: Model) -> Iterator[Obstacle]:
    """Source: hf_config_override, which vLLM applies to every draft's config.json."""
    family = known.mtp_of(draft.config)
    name = draft.config.architecture or "an unnamed architecture"
    if family:
        why = f"{rules.VLLM} takes {name} as a draft for its MTP layers ({family.drafter})"
        yield Obstacle("fatal", why, "take a draft of another model type")
    elif not known.use_of(draft.config.architecture):
        why = f"{name} is not among the models of {rules.VLLM}"
        yield Obstacle("doubt", why, "it needs the Transformers backend, or a later vLLM")


def _vocabulary_rules(target: Model, draft: Model) -> Iterator[Obstacle]:
    """Source: verify_equal_vocab_size_if_draft_model in vllm/config/speculative.py (0.32.0)."""
    sizes = target.config.number("vocab_size"), draft.config.number("vocab_size")
    if None in sizes:
        yield Obstacle("doubt", "vocabulary sizes are not told", "look at config.json")
    elif sizes[0] != sizes[1]:
        why = f"vocabulary of {sizes[1]:,} entries against {sizes[0]:,}: {rules.VLLM} refuses"
        yield Obstacle("fatal", why, _way_out(target, draft))
    else:
        yield from rules.tokenizer_rules(target, draft, _SAME_FAMILY)


def _way_out(target: Model, draft: Model) -> str:
    found = agreement(target.tokenizer, draft.tokenizer)
    if found and not found.n_other_id:
        return (
            "same tokens, other padding: pad its embedding and lm_head and set vocab_size, "
            f"or {_ANY_VOCABULARY}"
        )
    shared = f"; {found.n_shared:,} tokens are in both" if found else ""
    return f"{_SAME_FAMILY} (greedy drafts{shared})"


def _position_rules(target: Model, draft: Model) -> Iterator[Obstacle]:
    """The draft gets positions up to the target's length; its rotary table ends at its own.

    Source: SpecDecodeBaseProposer.max_model_len in vllm/v1/spec_decode/llm_base_proposer.py;
    vLLM widens the table of EAGLE drafts alone (_maybe_override_draft_max_position_embeddings).
    """
    of_target, of_draft = target.config.n_positions, draft.config.n_positions
    if of_target and of_draft and of_draft < of_target:
        why = f"knows {of_draft:,} positions; the target serves {of_target:,}"
        yield Obstacle("doubt", why, f"--max-model-len {of_draft}")
