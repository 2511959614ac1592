"""The engines that can be captured."""

from collections.abc import Sequence

import httpx

from tracekit.collectors.engine import Engine, ServerFacts, ServingEngine
from tracekit.collectors.engines.sglang import Sglang
from tracekit.collectors.engines.torch_run import Torch
from tracekit.collectors.engines.vllm import Vllm
from tracekit.errors import CaptureError

SERVING: tuple[ServingEngine, ...] = (Vllm(), Sglang())
"""Those that serve, in the order they are asked whether a running server is theirs."""

ENGINES: tuple[Engine, ...] = (*SERVING, Torch())
NAMES = tuple(engine.name for engine in ENGINES)


def engine_of_command(command: Sequence[str], name: str | None) -> Engine:
    """The engine of that name, or the one that `command` starts.

    Raises:
        CaptureError: it starts none.
    """
    for engine in ENGINES:
        if engine.name == name or (name is None and engine.is_started_by(command)):
            return engine
    raise CaptureError(
        f"{command[0]}: no server in this command that can be captured ({', '.join(NAMES)}); "
        "write its own command after --, or capture what runs with --url"
    )


def engine_of_server(client: httpx.Client, name: str | None) -> tuple[ServingEngine, ServerFacts]:
    """The engine of that name, or the one whose server answers, and what it tells of itself.

    Raises:
        CaptureError: no engine's server answers there.
    """
    for engine in SERVING:
        if name is None or engine.name == name:
            try:
                return engine, engine.describe(client)
            except (httpx.HTTPError, LookupError, ValueError, TypeError):
                continue
    names = name or " or ".join(engine.name for engine in SERVING)
    raise CaptureError(
        f"server: none of {names} answers at {client.base_url}; check --url and the API key"
    )
