"""One thing that `tracekit doctor` looked at."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "missing"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found on a topic, and what to do about it where it is not all right."""

    topic: str
    state: State
    found: str
    remedy: str | None = None
