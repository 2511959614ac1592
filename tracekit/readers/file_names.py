"""What the name of a trace file says: rank, data-parallel engine, stage, and whose file it is."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameFacts:
    """Facts read from a file name; None where the name does not tell.

    Where `pp` (SGLang's pipeline stage) is not None, `rank` is the tensor-parallel rank within it.
    """

    rank: int | None = None
    dp: int | None = None
    pp: int | None = None
    stage: str | None = None
    is_frontend: bool = False


# Source: facts of vLLM 0.11-0.33, SGLang 0.4-0.5, TensorRT-LLM, torch's tensorboard_trace_handler.
_VLLM_PARALLEL = re.compile(
    r"(?:^|_)dp(?P<dp>\d+)_pp\d+_tp\d+_dcp\d+_ep\d+_rank(?P<rank>\d+)(?=\.|$)"
)
_SGLANG = re.compile(
    r"-TP-(?P<tp>\d+)(?:-DP-(?P<dp>\d+))?(?:-PP-(?P<pp>\d+))?(?:-EP-\d+)?"
    r"(?:-(?P<stage>EXTEND|PREFILL|DECODE|[A-Z_]+))?(?=\.|$)"
)
_RANK = re.compile(r"(?:^|[^a-z])rank[-_]?(?P<rank>\d+)(?!\d)", re.IGNORECASE)
_WORKER = re.compile(r"^worker[-_]?(?P<rank>\d+)(?=[._-]|$)", re.IGNORECASE)


def facts_of_name(name: str) -> NameFacts:
    """Everything the name of a trace tells; `name` has no folder."""
    if ".async_llm" in name:
        return NameFacts(is_frontend=True)
    if match := _VLLM_PARALLEL.search(name):
        return NameFacts(rank=int(match["rank"]), dp=int(match["dp"]))
    if match := _SGLANG.search(name):
        return _sglang(match)
    match = _RANK.search(name) or _WORKER.search(name)
    return NameFacts(rank=int(match["rank"])) if match else NameFacts()


def rank_from_name(name: str) -> int | None:
    """Rank within the engine's world as the file name gives it, else None."""
    return facts_of_name(name).rank


def _sglang(match: re.Match[str]) -> NameFacts:
    dp, pp = (None if match[key] is None else int(match[key]) for key in ("dp", "pp"))
    return NameFacts(rank=int(match["tp"]), dp=dp, pp=pp, stage=match["stage"])
