"""Variables that make NCCL (and RCCL) log what `--nccl-log` asks for, one file per process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LEVELS = ("INFO", "TRACE")
"""What the user may have chosen already and is enough."""

SUBSYSTEMS = ("INIT", "GRAPH", "ENV", "COLL", "TUNING")
FILE = "nccl.%h.%p.log"
"""Name of a log; NCCL puts host and process there. It cuts a file that is there: %p is needed."""

TIMESTAMPS = {
    "NCCL_DEBUG_TIMESTAMP_LEVELS": "ALL",
    "NCCL_DEBUG_TIMESTAMP_FORMAT": "[%F %T.%6f %z] ",
}
"""Time of each line's enqueueing on the CPU, in the zone it names; older than 2.26 ignore it."""

NO_NCCL = (
    "NCCL log on, but there is no NCCL in the Python of the command: "
    "nothing will be logged unless another library brings it"
)
NOTE = (
    "NCCL log on: each collective call writes a line, which takes time; "
    "take latencies from a run without --nccl-log"
)


@dataclass(frozen=True, slots=True)
class NcclLog:
    """What to add to the server's environment, and what to tell the user."""

    env: dict[str, str]
    notes: tuple[str, ...]


def nccl_log(environment: Mapping[str, str], folder: Path, version: str | None = None) -> NcclLog:
    """How a server whose environment is this logs into `folder`, as far as the user left it open.

    `version` is NCCL's, such as 2.27.5; None or empty where it is not known.
    """
    wanted = {
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": ",".join(SUBSYSTEMS),
        "NCCL_DEBUG_FILE": f"{str(folder).replace('%', '%%')}/{FILE}",
        **TIMESTAMPS,
        "RAY_DEDUP_LOGS": "0",  # Ray drops lines that look alike
    }
    env = {name: value for name, value in wanted.items() if name not in environment}
    if environment.get("NCCL_DEBUG", "INFO").upper() not in LEVELS:
        env["NCCL_DEBUG"] = "INFO"
    return NcclLog(env, (NOTE, *_user_choices(environment), *_untimed(version)))


def _user_choices(environment: Mapping[str, str]) -> list[str]:
    notes = []
    level, subsystems = (environment.get(f"NCCL_DEBUG{end}", "") for end in ("", "_SUBSYS"))
    if level and level.upper() not in LEVELS:
        notes.append(f"NCCL_DEBUG={level} logs too little: INFO is used")
    if subsystems:
        notes.append(
            f"NCCL_DEBUG_SUBSYS={subsystems} is kept; for all that tracekit reads unset it"
        )
    if path := environment.get("NCCL_DEBUG_FILE"):
        notes.append(f"NCCL_DEBUG_FILE={path} is kept: the log is not in the run folder")
    return notes


def has_timestamps(version: str) -> bool:
    """Whether an NCCL of this version, such as 2.27.5, can stamp each line of its log."""
    return [int(part) for part in version.split(".")[:2] if part.isdecimal()] >= [2, 26]


def _untimed(version: str | None) -> list[str]:
    if not version or has_timestamps(version):
        return []
    return [f"NCCL {version} has no timestamps in its log (2.26 has)"]
