"""What a user asks a capture for."""

from collections.abc import Set
from dataclasses import asdict, dataclass, replace

from tracekit.errors import CaptureError


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """What a profile is to hold: `steps` decode steps, and what costs time or bytes beside them.

    Where the engine has such a bound, its profiler leaves out the first `delay_steps` steps, and
    ends by itself after `max_steps` (0: never).
    """

    steps: int
    delay_steps: int = 0
    max_steps: int = 0
    shapes: bool = False
    stacks: bool = False
    memory: bool = False
    scopes: bool = True
    nccl_log: bool = False


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server may take, in seconds: to become healthy, to write its traces."""

    start_s: float
    stop_profile_s: float


class NotTakenError(CaptureError):
    """An option that an engine, or a server that runs already, does not take: wrong usage."""

    exit_code = 2


FLAGS = {
    "delay_steps": "--delay",
    "shapes": "--shapes",
    "stacks": "--stacks",
    "memory": "--allocations",
    "nccl_log": "--nccl-log",
}
"""Options of a profile as the user writes them."""


def attached(
    options: ProfileOptions, engine: str, taken: Set[str]
) -> tuple[ProfileOptions, dict[str, object]]:
    """Options for a server that runs already and takes those `taken`; and what is known of them.

    Raises:
        NotTakenError: one that was asked for can only be given to a server when it is started.
    """
    for name, flag in FLAGS.items():
        if getattr(options, name) and name not in taken:
            raise NotTakenError(
                f"{flag}: a server of {engine} takes that when it is started, not while it runs; "
                "leave it out, or put the server's command after --"
            )
    options = replace(options, scopes=False)
    decided = asdict(options)
    known = {"steps", "scopes", *taken}
    return options, {name: decided[name] for name in decided if name in known}
