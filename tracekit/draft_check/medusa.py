"""Method medusa: several heads on the target's last hidden states, one for each position."""

from collections.abc import Iterator

from tracekit.draft_check import rules
from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.model import Model

_DEFAULT_HIDDEN = 4096
"""Source: MedusaConfig in vllm/transformers_utils/configs/medusa.py (0.32.0)."""


def obstacles(target: Model, draft: Model) -> Iterator[Obstacle]:
    """What stands against the draft as Medusa heads.

    Source: vllm/model_executor/models/medusa.py and SpeculativeConfig.__post_init__ (0.32.0). vLLM
    makes as many heads as num_speculative_tokens, and refuses those that have no weights.
    """
    if draft.weights.names and not draft.n_medusa_heads:
        yield Obstacle("fatal", "no Medusa heads among its weights")
        return
    if not draft.weights.names and draft.kind != "Medusa heads":
        yield Obstacle("fatal", f"no Medusa heads: {draft.kind}")
        return
    if draft.config.architectures not in ([], ["MedusaModel"]):
        why = f"vLLM loads its architecture {draft.config.architecture} in place of MedusaModel"
        yield Obstacle("fatal", why, "remove architectures from its config.json")
    yield from rules.name_rules(draft, "medusa")
    yield from rules.read_rules(draft)
    told = draft.config.number("hidden_size") or _DEFAULT_HIDDEN
    yield from rules.hidden_rules(target, draft, told)
    yield from _head_rules(target, draft, told)
    if draft.n_medusa_heads:
        why = f"num_speculative_tokens at most {draft.n_medusa_heads}, its number of heads"
        yield Obstacle("note", why)
    yield Obstacle("note", "vLLM 0.33 has no medusa any more")


def _head_rules(target: Model, draft: Model, hidden: int) -> Iterator[Obstacle]:
    size = target.config.number("vocab_size")
    found = draft.weights.find("lm_heads.0.weight", f"0.{_n_layers(draft)}.weight")
    if found and size and found.shape != (size, hidden) and not draft.weights.find("token_map"):
        why = f"its heads are {found}; target's vocabulary x hidden size: {size:,} x {hidden:,}"
        yield Obstacle("fatal", why, rules.OTHER_HEAD)


def _n_layers(draft: Model) -> int:
    told = (draft.config.number(key) for key in ("num_hidden_layers", "medusa_num_layers"))
    return next((n for n in told if n), 1)
