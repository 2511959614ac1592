"""What the name of a trace file says: rank, data-parallel engine, stage, and whose file it is."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameFacts:
    """Facts read from a file name; None where the name does not tell.

    `rank` is the tensor-parallel rank where `pp`, SGLang's pipeline stage, is not None.
    `is_engine_rank`: it counts within one data-parallel engine, as distributedInfo may not.
    """

    rank: int | None = None
    dp: int | None = None
    pp: int | None = None
    stage: str | None = None
    is_engine_rank: bool = False
    is_frontend: bool = False


# Source: vllm 0.17-0.33, `[{prefix}_]dp{D}_pp{P}_tp{T}_dcp{C}_ep{E}_rank{R}`.
_VLLM = re.compile(r"(?:^|_)dp(?P<dp>\d+)_pp\d+_tp\d+_(?:\w+_)?rank(?P<rank>\d+)(?=\.|$)")
# Source: sglang 0.4-0.5, `{id}-TP-{t}[-DP-{d}][-PP-{p}][-EP-{e}][-{EXTEND|DECODE}]`.
_SGLANG = re.compile(
    r"-TP-(?P<tp>\d+)(?:-DP-(?P<dp>\d+))?(?:-PP-(?P<pp>\d+))?(?:-EP-\d+)?"
    r"(?:-(?P<stage>[A-Z_]+))?(?=\.|$)"
)
# Source: vllm 0.11-0.16 `{id}-rank-{R}`, `rank{R}`; TensorRT-LLM `trace-rank-{R}`.
_RANK = re.compile(r"(?<![a-z])rank[-_]?(?P<rank>\d+)", re.IGNORECASE)
# Source: torch's tensorboard_trace_handler with worker_name=f"worker{rank}".
_WORKER = re.compile(r"worker[-_]?(?P<rank>\d+)(?=[._-]|$)", re.IGNORECASE)


def facts_of_name(name: str) -> NameFacts:
    """Everything that the name of a trace, without its folder, tells."""
    if ".async_llm" in name:
        return NameFacts(is_frontend=True)
    if match := _VLLM.search(name):
        return NameFacts(rank=_number(match, "rank"), dp=_number(match, "dp"), is_engine_rank=True)
    if match := _SGLANG.search(name):
        tp, dp, pp = (_number(match, key) for key in ("tp", "dp", "pp"))
        return NameFacts(rank=tp, dp=dp, pp=pp, stage=match["stage"])
    match = _RANK.search(name) or _WORKER.match(name)
    return NameFacts(rank=_number(match, "rank")) if match else NameFacts()


def rank_from_name(name: str) -> int | None:
    """Rank that the name of a trace tells; None where it tells none."""
    return facts_of_name(name).rank


def _number(match: re.Match[str], key: str) -> int | None:
    """Number of a group, None where it is missing or no rank can be that large."""
    return int(match[key]) if match[key] and len(match[key]) < 7 else None
