"""What stands against a target, whatever drafts for it: a draft helps no model that cannot load."""

from collections.abc import Iterator

from tracekit.draft_check import rules
from tracekit.draft_check.contents import content_rules
from tracekit.draft_check.finding import Obstacle
from tracekit.draft_check.model import Model


def obstacles(target: Model) -> Iterator[Obstacle]:
    """What stands against the target, its reasons marked as of it."""
    for found in _own(target):
        yield Obstacle(found.weight, f"target: {found.why}", found.remedy)


def _own(target: Model) -> Iterator[Obstacle]:
    yield from rules.read_rules(target)
    yield from content_rules(target, "answers")
    for problem in target.problems:
        if problem not in target.weights.problems:
            why, _, remedy = problem.partition("; ")
            yield Obstacle("doubt", why, remedy)
