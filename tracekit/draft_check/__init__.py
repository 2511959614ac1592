"""Whether a draft can draft for a target: from their folders alone, without loading either."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tracekit.draft_check import eagle, eagle3, medusa, mtp, whole_model
from tracekit.draft_check.compare import checks
from tracekit.draft_check.finding import Check, Obstacle, Verdict, verdict
from tracekit.draft_check.model import Model, read_model
from tracekit.draft_check.target import obstacles as target_obstacles

_OF_DRAFT: dict[str, Callable[[Model, Model], Iterable[Obstacle]]] = {
    "draft_model": whole_model.obstacles,
    "eagle": eagle.obstacles,
    "eagle3": eagle3.obstacles,
    "medusa": medusa.obstacles,
}
METHODS = (*_OF_DRAFT, "mtp", "ngram")
"""Ways to draft, as vLLM calls them."""

_NGRAM = Obstacle("note", "needs no draft: it copies what followed the same tokens before")


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found of two models, or of a target alone."""

    target: Model
    draft: Model | None
    checks: list[Check]
    verdicts: list[Verdict]


def check_draft(target: Path, draft: Path | None = None) -> Findings:
    """Compares two model folders, and says by which methods vLLM can draft.

    Without `draft`: what the target can do alone. Raises ModelError where a folder has no readable
    config.json; what else is missing or damaged is among the findings.
    """
    of_target = read_model(target)
    of_draft = read_model(draft) if draft else None
    of_any = list(target_obstacles(of_target))
    verdicts = [
        verdict(method, [*of_any, *obstacles(of_target, of_draft)])
        for method, obstacles in _OF_DRAFT.items()
        if of_draft is not None
    ]
    verdicts.append(verdict("mtp", [*of_any, *mtp.obstacles(of_target, of_draft)]))
    verdicts.append(verdict("ngram", [*of_any, _NGRAM]))
    return Findings(of_target, of_draft, list(checks(of_target, of_draft)), verdicts)
