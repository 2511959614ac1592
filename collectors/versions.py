"""Versions of what serves, asked of the server's own Python, which imports none of it for that."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources

from tracekit.collectors.tool import ask

TIMEOUT_S = 30.0


def versions_of(python: Sequence[str], environment: Mapping[str, str]) -> dict[str, object]:
    """Versions as run.json has them; `python` is the words that start the interpreter.

    `python`, `vllm`, `sglang`, `torch`, `cuda` and `hip` (what torch was built for), `nccl`
    (None where it is not there, or not told), `packages` (all that take part, by their names).
    Where it does not answer there is only `problem`.
    """
    probe = resources.files("tracekit.collectors").joinpath("versions_probe.py")
    answer = ask([*python, "-c", probe.read_text("utf-8")], environment, TIMEOUT_S)
    if answer.problem:
        return {"problem": f"{' '.join(python)}: {answer.problem}"}
    try:
        told = json.loads(answer.text.splitlines()[-1])
    except (ValueError, IndexError):
        return {"problem": f"{' '.join(python)}: does not answer as a Python does"}
    return told if isinstance(told, dict) else {"problem": f"{' '.join(python)}: no Python"}
