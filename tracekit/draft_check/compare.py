"""What two models have in common, one line for each thing that drafting depends on."""

from collections.abc import Callable, Iterator

from tracekit import units
from tracekit.draft_check import mtp
from tracekit.draft_check.agreement import agreement
from tracekit.draft_check.eagle3 import LAYER_IDS, default_layers, read_hidden_size
from tracekit.draft_check.finding import Check, State
from tracekit.draft_check.model import Model
from tracekit.draft_check.tokenizer import ROLES, THINKING

_NUMBERS = {
    "hidden size": "hidden_size",
    "layers": "num_hidden_layers",
    "attention heads": "num_attention_heads",
}
_SHOWN = 24


class Pair:
    """A target and a draft, or a target alone, to be compared."""

    def __init__(self, target: Model, draft: Model | None) -> None:
        self.target, self.draft = target, draft
        self.models = [model for model in (target, draft) if model]

    def beside(self, topic: str, cell: Callable[[Model], str]) -> Check:
        """One thing of both models."""
        target = cell(self.target)
        draft = cell(self.draft) if self.draft else ""
        is_alone = not (target and draft)
        state: State = "told" if is_alone else "same" if target == draft else "differs"
        return Check(topic, state, target, draft)

    def of(self, model: Model, topic: str, state: State, text: str, note: str = "") -> Check:
        """A thing of one of the models."""
        is_target = model is self.target
        return Check(topic, state, text if is_target else "", "" if is_target else text, note)


def checks(target: Model, draft: Model | None) -> Iterator[Check]:
    """The comparisons, in the order to read them; what neither model has is left out."""
    pair = Pair(target, draft)
    for found in (*_model_checks(pair), *_head_checks(pair), *_token_checks(pair)):
        if found.target or found.draft or found.note:
            yield found
    for model in pair.models:
        for problem in model.problems:
            yield Check("file", "wrong", note=f"{model.name}: {problem}")


def _model_checks(pair: Pair) -> Iterator[Check]:
    yield pair.beside("architecture", lambda m: m.config.architecture or m.config.model_type)
    if pair.draft:
        yield pair.of(pair.draft, "taken for", "told", pair.draft.kind)
    for topic, key in _NUMBERS.items():
        yield pair.beside(topic, lambda m, key=key: _number(m.config.number(key)))  # type: ignore[misc]
    yield pair.beside("positions", lambda m: _number(m.config.n_positions))
    yield pair.beside("rope", _rope)
    yield pair.beside("dtype", lambda m: m.config.dtype)
    yield pair.beside("quantization", lambda m: m.config.quantization)
    yield pair.beside("MTP layers", lambda m: _number(mtp.n_layers(m)))
    yield from _size_checks(pair)


def _head_checks(pair: Pair) -> Iterator[Check]:
    """What heads have that whole models have not."""
    draft, config = pair.draft, pair.target.config
    if draft is None:
        return
    if draft.fc:
        yield Check("fc", "told", draft=str(draft.fc))
    if draft.kind == "EAGLE-3 head":
        n_layers = config.number("num_hidden_layers")
        default = f"default {_listed(default_layers(n_layers))}" if n_layers else ""
        told = _listed(tuple(draft.config.layer_ids(LAYER_IDS)))
        yield Check("layers read", "told", default, told)
        reads = _number(read_hidden_size(draft))
        hidden = _number(config.number("hidden_size"))
        yield Check("hidden read", "same" if hidden == reads else "differs", hidden, reads)
        yield Check("draft tokens", "told", draft=_number(draft.config.number("draft_vocab_size")))
        yield Check("d2t", "told", draft=str(draft.d2t) if draft.d2t else "")
    if draft.kind == "Medusa heads":
        yield Check("Medusa heads", "told", draft=_number(draft.n_medusa_heads))


def _token_checks(pair: Pair) -> Iterator[Check]:
    yield pair.beside("vocabulary", lambda m: _number(m.config.number("vocab_size")))
    yield pair.beside("padding", _padding)
    for model in pair.models:
        yield from _row_checks(pair, model)
    files = pair.beside("tokenizer", _tokenizer)
    yield Check("tokenizer", "told", files.target, files.draft)
    if pair.draft:
        yield _tokens(pair.target, pair.draft)
        yield from _part_checks(pair.target, pair.draft)
    for role in ROLES:
        yield pair.beside(role.replace("_", " "), lambda m, role=role: _role(m, role))  # type: ignore[misc]
    yield pair.beside("end of text", lambda m: _listed(m.eos_ids))
    for token in THINKING:
        yield pair.beside(token, lambda m, token=token: _number(m.tokenizer.ids.get(token)))  # type: ignore[misc]


def _row_checks(pair: Pair, model: Model) -> Iterator[Check]:
    """Rows of weights, and the largest token, against the size of the vocabulary."""
    size, largest = model.config.number("vocab_size"), model.tokenizer.largest_id
    tensors = {"embedding": model.embedding}
    if model.kind == "whole model":
        tensors["lm_head"] = model.head
    for topic, tensor in tensors.items():
        if tensor and size and tensor.shape[:1] != (size,):
            yield pair.of(model, topic, "wrong", str(tensor), "its rows are not the vocabulary")
    if size and largest is not None and largest >= size:
        note = "outside of the vocabulary"
        yield pair.of(model, "largest token", "wrong", f"{largest:,}", note)


def _padding(model: Model) -> str:
    """Entries of the vocabulary after the last token."""
    size, largest = model.config.number("vocab_size"), model.tokenizer.largest_id
    is_padded = size and largest is not None and largest + 1 < size
    return f"{size - largest - 1:,}" if is_padded else ""  # type: ignore[operator]


def _tokens(target: Model, draft: Model) -> Check:
    found = agreement(target.tokenizer, draft.tokenizer)
    if found:
        note = "; ".join([found.words, *found.examples])
        return Check("tokens", "same" if found.is_full else "differs", note=note)
    if target.tokenizer.digest and target.tokenizer.digest == draft.tokenizer.digest:
        return Check("tokens", "same", note=f"{target.tokenizer.source}: the same, byte by byte")
    lacking = [m.name for m in (target, draft) if not m.tokenizer.ids]
    return Check("tokens", "unknown", note=f"no vocabulary to read in {' and '.join(lacking)}")


def _part_checks(target: Model, draft: Model) -> Iterator[Check]:
    """What the tokenizers make tokens by, where both tell."""
    ours, theirs = target.tokenizer, draft.tokenizer
    for part in [part for part in ours.parts if part in theirs.parts]:
        state: State = "same" if ours.parts[part] == theirs.parts[part] else "differs"
        if part == "merges":
            yield Check(part, state, f"{ours.n_merges:,}", f"{theirs.n_merges:,}")
        elif state == "differs":
            yield Check(part, state, ours.parts[part][:80], theirs.parts[part][:80])


def _size_checks(pair: Pair) -> Iterator[Check]:
    """Bytes of weights are what one pass of a dense model has to read."""
    sizes = [model.weights.n_bytes for model in pair.models]
    ratio = ""
    if all(sizes) and len(sizes) > 1:
        ratio = f"the draft has {units.percent(sizes[1] / sizes[0])} % of the target's bytes"
    found = pair.beside("weights", lambda m: units.size(m.weights.n_bytes or None).strip("-"))
    yield Check("weights", "told", found.target, found.draft, ratio)
    found = pair.beside("parameters", _parameters)
    yield Check("parameters", "told", found.target, found.draft)


def _parameters(model: Model) -> str:
    n = model.weights.n_parameters
    if not n:
        return ""
    return f"{n / 1e9:.3g} billion" if n >= 1e8 else f"{n / 1e6:.3g} million"


def _tokenizer(model: Model) -> str:
    n, source = len(model.tokenizer.ids), model.tokenizer.source
    if not source:
        return ""
    return f"{n:,} of {source}" if n else f"{source}, not read"


def _role(model: Model, role: str) -> str:
    token = model.tokenizer.roles.get(role, "")
    number = model.tokenizer.ids.get(token)
    return f"{token[:_SHOWN]} {'' if number is None else number}".strip()


def _rope(model: Model) -> str:
    rope = model.config.rope
    theta, factor = rope["rope_theta"], rope.get("factor")
    parts = [f"theta {theta:g}"] if isinstance(theta, int | float) and 0 < theta < 2**60 else []
    if rope["rope_type"] != "default":
        parts.append(str(rope["rope_type"])[:_SHOWN])
    if isinstance(factor, int | float) and 0 < factor < 2**40:
        parts.append(f"x{factor:g}")
    return " ".join(parts)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers[:4]))
