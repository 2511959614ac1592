"""Engine vLLM: `vllm serve ...` and `python -m vllm.entrypoints.openai.api_server ...`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from tracekit.collectors.context.interpreter import interpreter_of
from tracekit.collectors.engine import Launch, ServerFacts
from tracekit.collectors.engines.served import place_of, size, url_of
from tracekit.collectors.engines.vllm_installed import InstalledVllm, installed_vllm
from tracekit.collectors.engines.vllm_profiler import (
    OPTION,
    has_config,
    profiler_config,
    profiler_variables,
    refuse_untaken,
    without_profiler_config,
)
from tracekit.collectors.engines.vllm_scopes import scopes_environment
from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError
from tracekit.readers.serve_command import options_of

ITERATION_LOG = "enable_logging_iteration_details"


class Vllm:
    """vLLM; see `ServingEngine`."""

    name = "vllm"
    how_to_profile = (
        f'start it with {OPTION} \'{{"profiler":"torch","torch_profiler_dir":"DIR",'
        '"torch_profiler_with_stack":false}\', '
        "before vLLM 0.13 with VLLM_TORCH_PROFILER_DIR=DIR"
    )
    taken_while_running: frozenset[str] = frozenset()

    def is_started_by(self, command: Sequence[str]) -> bool:
        """Whether one of the words starts a vLLM server."""
        return _place(command) is not None

    def launch(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        options: ProfileOptions,
        folder: RunFolder,
    ) -> Launch:
        """The command with the profiler switch that the installed vLLM takes."""
        place = _place(command)
        if place is None:
            raise CaptureError(
                f"{command[0]}: no vLLM server in this command; write vllm serve MODEL after --"
            )
        given = options_of(command[place + 1 :])
        variables = {**environment, **_assigned(command[:place])}
        python = interpreter_of(command, place, environment)
        installed = installed_vllm(python, environment)
        refuse_untaken(installed, options)
        scopes = scopes_environment(environment) if options.scopes else {}
        arguments, user = without_profiler_config(command[place + 1 :])
        switches = _switches(installed, options, folder, user)
        return Launch(
            command=(*command[: place + 1], *arguments, *switches),
            env={**profiler_variables(installed, options, folder.traces), **scopes},
            trace_dir=folder.traces,
            url=url_of(given, port=8000),
            n_ranks=n_ranks(given),
            python=python,
            api_key=api_key_of(given, variables),
            has_scopes=options.scopes,
        )

    def describe(self, client: httpx.Client) -> ServerFacts:
        """Version and model; arguments where the server is in development mode."""
        version = client.get("/version").raise_for_status().json()["version"]
        model = client.get("/v1/models").raise_for_status().json()["data"][0]
        info = client.get("/server_info", params={"config_format": "json"})
        return ServerFacts(
            version=version,
            model=model.get("root"),
            served_model=model["id"],
            server_args=_arguments(info.json()) if info.is_success else {},
        )

    def start_profile(
        self, client: httpx.Client, options: ProfileOptions, trace_dir: str, name: str
    ) -> None:
        """Start the profiler as the server was configured; older versions take no options here."""
        client.post("/start_profile").raise_for_status()

    def stop_profile(self, client: httpx.Client) -> None:
        """Stop it; the answer comes when all ranks have written."""
        client.post("/stop_profile").raise_for_status()

    def is_rank_trace(self, name: str) -> bool:
        """All traces but that of the API server, which has no device work."""
        return ".pt.trace.json" in name and ".async_llm." not in name


def _arguments(told: Mapping[str, Any]) -> dict[str, object]:
    """What /server_info tells; whether it schedules ahead stands by itself, as emitted tokens need.

    Source: vLLM 0.32, `vllm_config` is an object here; it was a text before `config_format`.
    """
    config = told.get("vllm_config")
    scheduler = config.get("scheduler_config") if isinstance(config, dict) else None
    if isinstance(scheduler, dict) and isinstance(scheduler.get("async_scheduling"), bool):
        return {"async_scheduling": scheduler["async_scheduling"], **told}
    return {**told}


def _assigned(words: Sequence[str]) -> dict[str, str]:
    """Variables that `env NAME=VALUE` in front of a command sets."""
    return dict(word.split("=", 1) for word in words if "=" in word and not word.startswith("-"))


def _place(command: Sequence[str]) -> int | None:
    return place_of(command, program="vllm", module="vllm.entrypoints.")


def api_key_of(options: Mapping[str, str], variables: Mapping[str, str]) -> str | None:
    """What requests have to show; None where the server asks for nothing."""
    return options.get("api-key") or variables.get("VLLM_API_KEY")


def n_ranks(options: Mapping[str, str]) -> int | None:
    """Ranks on this machine; None where a file, or other machines, have a say."""
    if options.keys() & {"config", "nnodes", "data-parallel-size-local"}:
        return None
    return (
        size(options, "tensor-parallel-size", "tp")
        * size(options, "pipeline-parallel-size", "pp")
        * size(options, "data-parallel-size", "dp")
    )


def _switches(
    installed: InstalledVllm,
    options: ProfileOptions,
    folder: RunFolder,
    user: Mapping[str, object],
) -> list[str]:
    switches = []
    if has_config(installed):
        config = profiler_config(installed, options, folder.traces, user)
        switches += [OPTION, json.dumps(config)]
    elif "VLLM_TORCH_PROFILER_DIR" not in installed.variables:
        raise CaptureError(
            f"vLLM {installed.version}: has no profiler that tracekit knows; take another version"
        )
    if ITERATION_LOG in installed.observability_fields:
        switches.append(f"--{ITERATION_LOG.replace('_', '-')}")
    return switches
