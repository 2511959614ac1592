"""Versions of what serves, asked of the server's own Python, which imports none of it for that."""

from collections.abc import Mapping, Sequence
from importlib.resources import files

from tracekit.collectors.context.interpreter import told_by

PROBE = files("tracekit.collectors.context") / "versions_probe.py"
TIMEOUT_S = 30.0


def versions_of(python: Sequence[str], environment: Mapping[str, str]) -> dict[str, object]:
    """Versions as run.json has them; `python` is the words that start the interpreter.

    `python`, `vllm`, `sglang`, `torch`, `cuda` and `hip` (what torch was built for), `nccl`
    (None where it is not there, or not told), `packages` (all that take part, by their names).
    Where it does not answer there is only `problem`.
    """
    told, problem = told_by(python, environment, PROBE, TIMEOUT_S)
    return {"problem": f"{' '.join(python)}: {problem}"} if problem else told
