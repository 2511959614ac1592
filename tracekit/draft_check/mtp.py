"""Method mtp: layers for further tokens that the target, or a model for it, was trained with."""

from collections.abc import Iterator

from tracekit.draft_check import known, rules
from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.model import Model

_COUNTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
_OTHER_WAY = "take an EAGLE-3 head or a draft model"


def n_layers(model: Model) -> int | None:
    """Layers for further tokens by config.json; None where it says nothing."""
    if family := known.mtp_of(model.config):
        return family.n_layers(model.config)
    told = (model.config.number(key) for key in _COUNTS)
    return next((n for n in told if n is not None), None)


def obstacles(target: Model, draft: Model | None) -> Iterator[Obstacle]:
    """What stands against such layers: of the draft where it has some, else of the target."""
    model = draft if draft and n_layers(draft) and known.mtp_of(draft.config) else target
    whose = "target" if model is target else "draft"
    n = n_layers(model)
    if not n:
        told = "config.json names none" if n is None else f"{_told(model)} is 0"
        yield Obstacle("fatal", f"no MTP layers in the {whose}: {told}", _OTHER_WAY)
        return
    yield from _family_rules(model, whose)
    if model.weights.names and not model.has_mtp_weights:
        why = f"config.json says {n} MTP layers, the {whose}'s weights have none"
        yield Obstacle("fatal", why, "take a copy of the model that kept them")
    elif not model.weights.names:
        yield Obstacle("doubt", f"no safetensors of the {whose} to look for their weights in")
    if model is not target:
        yield from rules.name_rules(model, "mtp")
        yield from rules.read_rules(model)
        yield from rules.hidden_rules(target, model, model.config.number("hidden_size"))
    yield Obstacle("note", f"{n} in the {whose}; num_speculative_tokens over {n} {_more(n)}")


def _told(model: Model) -> str:
    return next(key for key in _COUNTS if model.config.number(key) is not None)


def _more(n: int) -> str:
    """Source: SpeculativeConfig.__post_init__ (0.32.0)."""
    return "runs it again" if n == 1 else f"has to be a multiple of {n}"


def _family_rules(model: Model, whose: str) -> Iterator[Obstacle]:
    if known.mtp_of(model.config) is None:
        kind = model.config.model_type or "unnamed"
        why = f"whether {rules.VLLM} drafts by the layers of model type {kind} is not known"
        yield Obstacle("doubt", why, f"its {whose} is none of the types in docs/check_draft.md")
