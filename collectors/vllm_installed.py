"""Which vLLM a command would start, and which switches of its profiler this version has."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from tracekit.errors import CaptureError

PROBE_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class InstalledVllm:
    """What an installed vLLM knows: fields of its configuration, variables it reads."""

    version: str
    profiler_fields: frozenset[str]
    observability_fields: frozenset[str]
    variables: frozenset[str]


def installed_vllm(python: Sequence[str], environment: Mapping[str, str]) -> InstalledVllm:
    """What the vLLM of this Python knows.

    Raises:
        CaptureError: no such Python, or no vLLM in it.
    """
    place = " ".join(python)
    told = json.loads(_ask(python, environment, place))
    return InstalledVllm(
        version=told["version"],
        profiler_fields=frozenset(told["profiler"] or ()),
        observability_fields=frozenset(told["observability"] or ()),
        variables=frozenset(told["variables"]),
    )


def _ask(python: Sequence[str], environment: Mapping[str, str], place: str) -> str:
    probe = resources.files("tracekit.collectors").joinpath("vllm_probe.py").read_text("utf-8")
    try:
        asked = subprocess.run(
            [*python, "-c", probe],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CaptureError(
            f"{place}: cannot say which vLLM it has ({_reason(error)}); "
            "start the server as PYTHON -m vllm.entrypoints.openai.api_server"
        ) from error
    return asked.stdout.splitlines()[-1]


def _reason(error: OSError | subprocess.SubprocessError) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = str(error.stderr).strip().splitlines()
        return lines[-1] if lines else f"exit code {error.returncode}"
    if isinstance(error, OSError):
        return str(error.strerror)
    return f"no answer in {PROBE_TIMEOUT_S:.0f} s"
