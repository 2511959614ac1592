"""What a check of two models finds: comparisons, and a verdict for each way to draft."""

from dataclasses import dataclass
from typing import Literal

State = Literal["same", "differs", "wrong", "unknown", "told"]
"""`wrong`: a model contradicts itself; `told`: nothing to compare it with."""

Outcome = Literal["works", "likely", "fails"]
"""`likely`: starts as far as can be told, but for what the reason says."""

Weight = Literal["fatal", "doubt", "note"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing of the target beside that of the draft; empty where a model has none."""

    topic: str
    state: State
    target: str = ""
    draft: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What stands against a method: fatal, or a doubt; a note changes no verdict."""

    weight: Weight
    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether vLLM can draft by a method, why not, and the way out."""

    method: str
    outcome: Outcome
    reason: str
    remedy: str


def verdict(method: str, obstacles: list[Obstacle]) -> Verdict:
    """The verdict that obstacles leave; fatal ones hide the others."""
    fatal = [found for found in obstacles if found.weight == "fatal"]
    is_doubtful = any(found.weight == "doubt" for found in obstacles)
    told = fatal or sorted(obstacles, key=lambda found: found.weight)  # a doubt before a note
    outcome: Outcome = "fails" if fatal else "likely" if is_doubtful else "works"
    reason = "; ".join(found.why for found in told)
    remedy = "; ".join(dict.fromkeys(found.remedy for found in told if found.remedy))
    return Verdict(method, outcome, reason, remedy)
