"""Whether the weights of a whole model are those that its config.json promises."""

from collections.abc import Iterator

from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.layers import DOWNLOAD, PLAIN, layer_rules
from tracekit.draft_check.model import Model
from tracekit.draft_check.shapes import matrix_rules, norm_rules


def content_rules(model: Model, given: str) -> Iterator[Obstacle]:
    """Weights that are missing, or of another shape than config.json says.

    `given` is what the model gives: `drafts`, or a target's `answers`.
    """
    if model.kind != "whole model" or not model.weights.is_complete:
        return
    yield from layer_rules(model)
    yield from norm_rules(model)
    yield from matrix_rules(model, model.config.architecture, given)
    if given == "drafts" or model.config.architecture in PLAIN:
        yield from _lacking_rules(model, given)
        yield from _row_rules(model)
        yield from _width_rules(model)


def _lacking_rules(model: Model, given: str) -> Iterator[Obstacle]:
    """An embedding or lm_head that is not there: vLLM 0.32.0 starts all the same."""
    is_tied = model.config.value("tie_word_embeddings") is not False
    lacking = {"embedding": model.embedding, "lm_head": model.head or (is_tied and model.embedding)}
    for name in [name for name, tensor in lacking.items() if not tensor]:
        yield Obstacle("doubt", f"its weights have no {name}: {given} are random", DOWNLOAD)


def _row_rules(model: Model) -> Iterator[Obstacle]:
    """Rows of embedding and lm_head that config.json contradicts.

    Source: weight_loader of VocabParallelEmbedding in
    vllm/model_executor/layers/vocab_parallel_embedding.py (0.32.0), which asserts them equal.
    """
    size = model.config.number("vocab_size")
    for name, tensor in (("embedding", model.embedding), ("lm_head", model.head)):
        if size and tensor and tensor.shape[:1] != (size,) and not tensor.is_packed:
            rows = tensor.shape[0] if tensor.shape else 0
            why = f"its {name} has {rows:,} rows, its vocab_size is {size:,}"
            yield Obstacle("fatal", why, "repair vocab_size in its config.json")


def _width_rules(model: Model) -> Iterator[Obstacle]:
    """Columns of embedding and lm_head in a plain model whose weights are as they are named."""
    hidden = model.config.number("hidden_size")
    if not hidden or model.config.quantization or model.config.architecture not in PLAIN:
        return
    for name, tensor in (("embedding", model.embedding), ("lm_head", model.head)):
        if tensor and tensor.shape[1:] != (hidden,) and not tensor.is_packed:
            why = f"its {name} is {tensor}, its hidden_size is {hidden:,}"
            yield Obstacle("fatal", why, "repair hidden_size in its config.json")
