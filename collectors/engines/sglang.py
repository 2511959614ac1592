"""Engine SGLang: `python -m sglang.launch_server ...` and `sglang serve ...`."""

import re
from collections.abc import Mapping, Sequence

import httpx

from tracekit.collectors.context.interpreter import interpreter_of
from tracekit.collectors.engine import Launch, ServerFacts
from tracekit.collectors.engines.served import place_of, size, url_of
from tracekit.collectors.options import NotTakenError, ProfileOptions
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError
from tracekit.readers.serve_command import options_of
from tracekit.readers.values import count

REFUSED = (400, 422)
"""Answers of a server that knows not every member of a request; most versions ignore such."""

NEWER = ("merge_profiles", "profile_prefix")  # in 0.5.5; not in 0.4.10

_RANK_TRACE = re.compile(r"(?!merged-).*-TP-\d+(-[A-Z]+-\d+)*(-[A-Z_]+)?\.trace\.json(\.gz)?")
_STOPPED_BY_ITSELF = 500


class Sglang:
    """SGLang; see `ServingEngine`."""

    name = "sglang"
    how_to_profile = "SGLang can always be profiled: is this its address, and the right API key?"
    taken_while_running = frozenset({"max_steps", "shapes", "stacks", "memory"})

    def is_started_by(self, command: Sequence[str]) -> bool:
        """Whether one of the words starts an SGLang server."""
        return _place(command) is not None

    def launch(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        options: ProfileOptions,
        folder: RunFolder,
    ) -> Launch:
        """The command as it is: the profiler needs no switch, counters need one."""
        place = _place(command)
        if place is None:
            raise CaptureError(
                f"{command[0]}: no SGLang server in this command; "
                "write python -m sglang.launch_server --model-path MODEL after --"
            )
        if options.delay_steps:
            raise NotTakenError("--delay: SGLang's profiler takes none; leave it out")
        given = options_of(command[place + 1 :])
        if "admin-api-key" in given:
            raise CaptureError(
                "--admin-api-key: a capture has one key, and the profiler would need this one; "
                "leave it out for the capture"
            )
        return Launch(
            command=(*command, *(() if "enable-metrics" in given else ("--enable-metrics",))),
            env={"SGLANG_TORCH_PROFILER_DIR": str(folder.traces)},
            trace_dir=folder.traces,
            url=url_of(given, port=30000),
            n_ranks=_n_ranks(given),
            python=interpreter_of(command, place, environment),
            api_key=given.get("api-key"),
        )

    def describe(self, client: httpx.Client) -> ServerFacts:
        """All of its arguments; SGLang tells them to whoever may ask.

        Source: SGLang 0.5.5 and later `/server_info`, before that `/get_server_info`.
        """
        answer = client.get("/server_info")
        if answer.status_code == httpx.codes.NOT_FOUND:
            answer = client.get("/get_server_info")
        told = answer.raise_for_status().json()
        model = told["model_path"]
        return ServerFacts(
            version=told.get("version"),
            model=model,
            served_model=told.get("served_model_name") or model,
            server_args={name: told[name] for name in told if name != "internal_states"},
        )

    def start_profile(
        self, client: httpx.Client, options: ProfileOptions, trace_dir: str, name: str
    ) -> None:
        """Start the profiler of all ranks; it stops by itself after `options.max_steps`."""
        body = _profile_request(options, trace_dir, name)
        answer = client.post("/start_profile", json=body)
        if answer.status_code in REFUSED:
            known = {member: body[member] for member in body if member not in NEWER}
            answer = client.post("/start_profile", json=known)
        answer.raise_for_status()

    def stop_profile(self, client: httpx.Client) -> None:
        """Stop it; the answer comes when all ranks have written.

        SGLang answers 500 where the profiler has stopped by itself. Whether the ranks wrote is
        then for the capture to see.
        """
        answer = client.post("/stop_profile")
        if answer.status_code != _STOPPED_BY_ITSELF:
            answer.raise_for_status()

    def is_rank_trace(self, name: str) -> bool:
        """Traces of ranks, also those of one stage; not the merged file, which has them again."""
        return _RANK_TRACE.fullmatch(name) is not None


def _place(command: Sequence[str]) -> int | None:
    return place_of(command, program="sglang", module="sglang.launch_server")


def _profile_request(options: ProfileOptions, trace_dir: str, name: str) -> dict[str, object]:
    """Body of /start_profile; what SGLang switches on by default is always told.

    Source: SGLang 0.4.10 to 0.5.23, `ProfileReqInput`. Merging would write every event twice, and
    a profile by stage would leave out what is neither prefill nor decode.
    """
    return {
        "output_dir": trace_dir,
        "num_steps": options.max_steps or None,
        "activities": ["CPU", "GPU", *(["MEM"] if options.memory else [])],
        "with_stack": options.stacks,
        "record_shapes": options.shapes,
        "profile_by_stage": False,
        "merge_profiles": False,
        "profile_prefix": name,
    }


def _n_ranks(options: Mapping[str, str]) -> int | None:
    """Ranks on this machine; with attention in parallel over data, those are the tensor ranks."""
    if "config" in options or (count(options.get("nnodes")) or 1) > 1:
        return None
    n_ranks = size(options, "tp-size", "tp", "tensor-parallel-size")
    n_ranks *= size(options, "pp-size", "pp", "pipeline-parallel-size")
    if "enable-dp-attention" in options:
        return n_ranks
    return n_ranks * size(options, "dp-size", "dp", "data-parallel-size")
