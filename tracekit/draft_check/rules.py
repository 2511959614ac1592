"""What stands against more than one method."""

from collections.abc import Iterator

from tracekit.draft_check import known
from tracekit.draft_check.agreement import agreement
from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.model import Model
from tracekit.draft_check.tokenizer import Tokenizer

OTHER_HEAD = "take a head that was trained for this target"
VLLM = f"vLLM {known.version()}"
TENSOR_PARALLEL = (2, 4, 8, 16)
_NAMES = {"eagle-": "eagle", "eagle3": "eagle3", "dflash": "dflash", "dspark": "dspark"}


def read_rules(draft: Model) -> Iterator[Obstacle]:
    """Damaged files are fatal, missing or unread ones a doubt."""
    weights = draft.weights
    for problem in weights.problems:
        why, _, remedy = problem.partition("; ")
        yield Obstacle("fatal", why, remedy)
    if not weights.tensors and not weights.problems:
        others = ", ".join(weights.others[:3])
        there = f"only {others}, which are not read" if others else "none in its folder"
        yield Obstacle("doubt", f"no safetensors header to check its shapes: {there}")


def name_rules(draft: Model, method: str) -> Iterator[Obstacle]:
    """A path that vLLM takes for another method.

    Source: SpeculativeConfig.__post_init__ in vllm/config/speculative.py (0.32.0).
    """
    path = str(draft.folder).lower()
    for part, taken in _NAMES.items():
        if part in path:
            why = f"{VLLM} takes it for {taken}, as its path has {part!r} in it"
            yield Obstacle("fatal", why, f"rename the folder, or use method {taken}")
            return


def tensor_parallel_rules(target: Model, draft: Model, way_out: str) -> Iterator[Obstacle]:
    """Tensor-parallel sizes that fit the target's heads and not the draft's.

    Source: verify_with_parallel_config in vllm/config/model.py (0.32.0).
    """
    of_target, of_draft = target.config.n_heads, draft.config.n_heads
    if not of_target or not of_draft:
        return
    sizes = [n for n in TENSOR_PARALLEL if of_target % n == 0 and of_draft % n]
    if sizes:
        listed = " or ".join(map(str, sizes))
        yield Obstacle("doubt", f"its {of_draft} attention heads rule out -tp {listed}", way_out)


def tokenizer_rules(target: Model, draft: Model, way_out: str) -> Iterator[Obstacle]:
    """Ids that mean other tokens: vLLM starts, and few drafts are accepted."""
    found = agreement(target.tokenizer, draft.tokenizer)
    if found is None:
        if target.tokenizer.digest and target.tokenizer.digest == draft.tokenizer.digest:
            return
        yield from _unread_rules("target", target.tokenizer)
        yield from _unread_rules("draft", draft.tokenizer)
    elif found.n_other_id or found.n_draft_only:
        why = f"{found.words}; such drafts are never accepted"
        yield Obstacle("doubt", why, way_out)


def _unread_rules(whose: str, tokenizer: Tokenizer) -> Iterator[Obstacle]:
    if tokenizer.ids:
        return
    why, remedy = f"no vocabulary to read in the {whose}", "put its tokenizer.json there"
    if tokenizer.source and tokenizer.problems:
        why, remedy = f"{tokenizer.source} of the {whose} is damaged", "download it again"
    yield Obstacle("doubt", f"tokens were not compared: {why}", remedy)


def hidden_rules(target: Model, draft: Model, told: int | None) -> Iterator[Obstacle]:
    """The target's hidden states have to fit the draft's input, which is `told` wide.

    Source: hidden_states of SpecDecodeBaseProposer in vllm/v1/spec_decode/llm_base_proposer.py
    (0.32.0), a buffer of the draft's width.
    """
    of_target = target.config.number("hidden_size")
    if of_target and told and of_target != told:
        why = f"made for hidden size {told:,}; the target has {of_target:,}"
        yield Obstacle("fatal", why, OTHER_HEAD)
