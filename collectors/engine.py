"""What a capture has to know of an engine; one file and one line in `engines.py` add another."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx

from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a command so that it can be profiled; `env` is added to the user's.

    `url` is None where the command serves nothing: a script that profiles itself and ends.
    `n_ranks` is how many ranks write a trace, None where the command does not tell.
    `python` starts the interpreter that runs the engine. `has_scopes`: tracekit's scopes are in it.
    """

    command: tuple[str, ...]
    env: dict[str, str]
    trace_dir: Path
    url: str | None = None
    n_ranks: int | None = None
    python: tuple[str, ...] = ()
    api_key: str | None = field(default=None, repr=False)
    has_scopes: bool = False


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a running server tells of itself: `model` as it was given, `served_model` for requests.

    `server_args` are its effective arguments, secrets included; empty where it does not tell.
    """

    version: str | None
    model: str | None
    served_model: str
    server_args: Mapping[str, object] = field(default_factory=dict, repr=False)


class Engine(Protocol):
    """A kind of command that can be captured."""

    @property
    def name(self) -> str:
        """As `run.json` has it: 'vllm', 'sglang', 'torch'."""
        ...

    def is_started_by(self, command: Sequence[str]) -> bool:
        """Whether `command` starts this engine."""
        ...

    def launch(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        options: ProfileOptions,
        folder: RunFolder,
    ) -> Launch:
        """How to start `command`, which the user would start in `environment`.

        Raises:
            CaptureError: this version, or an argument of the command, cannot be captured.
        """
        ...

    def is_rank_trace(self, name: str) -> bool:
        """Whether a file of this name in the trace folder is the trace of a rank."""
        ...


class ServingEngine(Engine, Protocol):
    """An engine that serves: load is sent to it, its profiler is switched by HTTP."""

    @property
    def how_to_profile(self) -> str:
        """How to start a server so that it can be profiled, in one line of a message."""
        ...

    @property
    def taken_while_running(self) -> Set[str]:
        """Names of the `ProfileOptions` that its /start_profile takes."""
        ...

    def describe(self, client: httpx.Client) -> ServerFacts:
        """What the running server tells of itself.

        Raises:
            httpx.HTTPError, KeyError, ValueError: it is no server of this engine.
        """
        ...

    def start_profile(
        self, client: httpx.Client, options: ProfileOptions, trace_dir: str, name: str
    ) -> None:
        """Start the profiler; `trace_dir` is a path as the server sees it, `name` the window's.

        Raises:
            httpx.HTTPError: the server refused; 404 where it is not made for profiling.
        """
        ...

    def stop_profile(self, client: httpx.Client) -> None:
        """Stop the profiler; returns when the traces are written.

        Raises:
            httpx.HTTPError: the server failed, or took longer than the client waits.
        """
        ...
