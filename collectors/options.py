"""What a user asks a capture for."""

from dataclasses import dataclass


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
