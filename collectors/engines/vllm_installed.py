"""Which vLLM a command would start, and which switches of its profiler this version has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from tracekit.collectors.context.interpreter import told_by
from tracekit.errors import CaptureError

PROBE = files("tracekit.collectors.engines") / "vllm_probe.py"
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
    told, problem = told_by(python, environment, PROBE, PROBE_TIMEOUT_S)
    if problem:
        raise CaptureError(
            f"{place}: cannot say which vLLM it has ({problem}); "
            "start the server as PYTHON -m vllm.entrypoints.openai.api_server"
        )
    return InstalledVllm(
        version=told["version"],
        profiler_fields=frozenset(told["profiler"] or ()),
        observability_fields=frozenset(told["observability"] or ()),
        variables=frozenset(told["variables"]),
    )
