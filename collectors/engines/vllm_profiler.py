"""vLLM's profiler switch in each of its forms.

Source: vllm/envs.py and vllm/config/profiler.py: variables up to 0.12, variables and
`--profiler-config` in 0.13 to 0.15, `--profiler-config` alone from 0.16. An unknown key of it
ends the server at start, so only fields that were seen in the installed version are given.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracekit.collectors.engines.vllm_installed import InstalledVllm
from tracekit.collectors.options import FLAGS, NotTakenError, ProfileOptions
from tracekit.errors import CaptureError

OPTION = "--profiler-config"
OURS = ("profiler", "torch_profiler_dir")
"""What a user's own `--profiler-config` cannot choose: the capture would find no trace."""

NEEDED = frozenset(OURS)
Config = dict[str, object]


def profiler_config(
    installed: InstalledVllm, options: ProfileOptions, trace_dir: Path, user: Mapping[str, object]
) -> Config:
    """Value of `--profiler-config`: what the installed version has, the user's wishes in it."""
    wanted: Config = {
        "profiler": "torch",
        "torch_profiler_dir": str(trace_dir),
        "torch_profiler_with_stack": options.stacks,  # always told: the default was both
        "torch_profiler_record_shapes": options.shapes,
        "torch_profiler_with_memory": options.memory,
        "torch_profiler_use_gzip": True,
        "torch_profiler_dump_cuda_time_total": False,  # a table: up to 30 s of stop_profile
        "detailed_trace_annotation": True,
        "ignore_frontend": True,
        "delay_iterations": options.delay_steps,
        "max_iterations": options.max_steps,
    }
    ours = {name: value for name, value in wanted.items() if name in installed.profiler_fields}
    return {**ours, **{name: value for name, value in user.items() if name not in OURS}}


def profiler_variables(
    installed: InstalledVllm, options: ProfileOptions, trace_dir: Path
) -> dict[str, str]:
    """Variables that switch the profiler on, of those the installed version reads."""
    wanted = {
        "VLLM_TORCH_PROFILER_DIR": str(trace_dir),
        "VLLM_TORCH_PROFILER_WITH_STACK": _flag(options.stacks),
        "VLLM_TORCH_PROFILER_RECORD_SHAPES": _flag(options.shapes),
        "VLLM_TORCH_PROFILER_WITH_PROFILE_MEMORY": _flag(options.memory),
        "VLLM_TORCH_PROFILER_USE_GZIP": _flag(True),
        "VLLM_TORCH_PROFILER_DUMP_CUDA_TIME_TOTAL": _flag(False),
        "VLLM_TORCH_PROFILER_DISABLE_ASYNC_LLM": _flag(True),
        "VLLM_PROFILER_DELAY_ITERS": str(options.delay_steps),
        "VLLM_PROFILER_MAX_ITERS": str(options.max_steps),
        "VLLM_RPC_TIMEOUT": "1800000",  # ms; to 0.8.5 stopping the profiler had 10 s by default
    }
    return {name: value for name, value in wanted.items() if name in installed.variables}


_SWITCHES = {
    "delay_steps": {"delay_iterations", "VLLM_PROFILER_DELAY_ITERS"},
    "shapes": {"torch_profiler_record_shapes", "VLLM_TORCH_PROFILER_RECORD_SHAPES"},
    "memory": {"torch_profiler_with_memory", "VLLM_TORCH_PROFILER_WITH_PROFILE_MEMORY"},
}
"""What takes an option; stacks need none: a version without the switch records them."""


def refuse_untaken(installed: InstalledVllm, options: ProfileOptions) -> None:
    """Raise NotTakenError for an option that the installed version has no switch for."""
    for name, switches in _SWITCHES.items():
        if getattr(options, name) and not switches & {
            *installed.profiler_fields,
            *installed.variables,
        }:
            raise NotTakenError(
                f"{FLAGS[name]}: the profiler of vLLM {installed.version} does not take it; "
                "leave it out, or take a newer vLLM"
            )


def has_config(installed: InstalledVllm) -> bool:
    """Whether this version takes `--profiler-config`."""
    return installed.profiler_fields >= NEEDED


def without_profiler_config(arguments: Sequence[str]) -> tuple[list[str], Config]:
    """Arguments less any `--profiler-config` or `--profiler-config.NAME`, and what those said.

    Raises:
        CaptureError: a value that is no JSON object.
    """
    rest: list[str] = []
    said: Config = {}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        option, _, member = name.replace("_", "-").partition(".")
        if option != OPTION:
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        said |= {name.partition(".")[2]: _parsed(value)} if member else _object(value)
    return rest, said


def _flag(value: bool) -> str:
    return "1" if value else "0"


def _parsed(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _object(value: str) -> Config:
    said = _parsed(value)
    if not isinstance(said, dict):
        raise CaptureError(f"{OPTION} {value}: no JSON object; write {{...}} or leave it out")
    return said
