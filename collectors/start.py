"""Captures a command: starts it so that it can be profiled, records, ends it."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from tracekit.collectors.capture import Capture
from tracekit.collectors.context import run as run_context
from tracekit.collectors.context.model_config import copy_configs
from tracekit.collectors.context.nccl_log import NO_NCCL, nccl_log
from tracekit.collectors.context.versions import versions_of
from tracekit.collectors.engine import Engine, Launch
from tracekit.collectors.engines.registry import engine_of_command, engine_of_server
from tracekit.collectors.engines.torch_run import record_script
from tracekit.collectors.failures import blamed_on
from tracekit.collectors.health import refuse_taken_port, wait_until_healthy
from tracekit.collectors.load.protocol import refuse_unusable_key
from tracekit.collectors.process.job import Job, running
from tracekit.collectors.recording import Recording
from tracekit.collectors.run_folder import RunFolder
from tracekit.collectors.secrets import Known, known_secrets
from tracekit.collectors.trace_files import TraceDir
from tracekit.collectors.window import Target

_WHO_SAYS_IT = re.compile(r"^[^\[]{0,80}\[[\w.]+:\d+\] ")
"""What vLLM begins a line of its log with: process, level, time, place in the code."""


def capture_command(
    capture: Capture,
    command: Sequence[str],
    environment: Mapping[str, str],
    engine_name: str | None,
    url: str | None,
) -> None:
    """Start `command`, record all runs of the plan, and end it.

    `url` is where its server will answer, where the command does not tell.

    Raises:
        CaptureError: anything that went wrong; what was recorded is in the run folders.
    """
    known = known_secrets(command, environment)
    with capture.redacted(known) as redacted:
        _capture(redacted, command, environment, engine_name, url, known)


def _capture(
    capture: Capture,
    command: Sequence[str],
    environment: Mapping[str, str],
    engine_name: str | None,
    url: str | None,
    known: Known,
) -> None:
    capture.refuse_taken()
    engine = engine_of_command(command, engine_name)
    run = capture.plan.runs[0]
    launch = engine.launch(command, environment, capture.plan.profile, run.folder)
    launch = launch if url is None else replace(launch, url=url)
    refuse_unusable_key(launch.api_key)
    if launch.url is not None:
        refuse_taken_port(launch.url)
    to_start = {**environment, **launch.env}
    versions = versions_of(launch.python, to_start)
    to_start |= _nccl_log(capture, to_start, run.folder, versions)
    context = run_context.of_command(engine.name, command, launch, to_start, known)
    context |= {
        "versions": versions,
        "options": {**asdict(capture.plan.profile), "scopes": launch.has_scopes},
    }
    with capture.recording(run, context, known) as recorded:
        capture.tell_size(launch.n_ranks)
        if launch.url is None:
            record_script(launch, to_start, recorded, capture.report, capture.signals)
        else:
            _Started(capture, engine, launch, to_start, recorded, known).run(launch.url)


def _nccl_log(
    capture: Capture,
    environment: Mapping[str, str],
    folder: RunFolder,
    versions: Mapping[str, object],
) -> dict[str, str]:
    """Variables for NCCL's log, where the user wants it."""
    if not capture.plan.profile.nccl_log:
        return {}
    log = nccl_log(environment, folder.nccl, version=str(versions.get("nccl") or ""))
    has_none = "torch" in versions and not (versions.get("nccl") or versions.get("hip"))
    for note in (NO_NCCL,) if has_none else log.notes:
        capture.report.note(note)
    return log.env


@dataclass(frozen=True, slots=True)
class _Started:
    """A server about to be started; `first` is the run whose folder has its log and traces."""

    capture: Capture
    engine: Engine
    launch: Launch
    environment: Mapping[str, str]
    first: Recording
    known: Known

    def run(self, url: str) -> None:
        """Start it, record, end it."""
        capture, log = self.capture, self.first.folder.server_log
        with (
            running(
                self.launch.command, self.environment, log, capture.signals, capture.report
            ) as server,
            capture.memory_watched(server.kill),
            blamed_on(server, capture.report),
        ):
            self._record_all(server, url)

    def _tell_news(self, server: Job) -> None:
        self.capture.report.detail(_WHO_SAYS_IT.sub("", "".join(server.tail(1))))

    def _record_all(self, server: Job, url: str) -> None:
        capture, launch = self.capture, self.launch
        capture.report.stage("starting the server")
        with capture.clients(url, launch.api_key) as (client, patient):
            wait_until_healthy(
                server, client, capture.plan.patience.start_s, lambda: self._tell_news(server)
            )
            engine, facts = engine_of_server(client, self.engine.name)
            self.first.add(**run_context.of_server(engine.name, facts))
            target = Target(
                engine=engine,
                client=client,
                patient=patient,
                url=url,
                model=facts.served_model,
                trace_dir=TraceDir(launch.trace_dir, str(launch.trace_dir), is_ours=True),
                n_ranks=launch.n_ranks,
                job=server,
                api_key=launch.api_key,
            )
            self._measure_all(target)
        capture.report.stage("stopping the server")

    def _measure_all(self, target: Target) -> None:
        first, *others = self.capture.plan.runs
        self._measure(target, self.first, first.concurrency)
        for run in others:
            with self.capture.recording(run, self.first.context, self.known) as recorded:
                self._measure(target, recorded, run.concurrency)

    def _measure(self, target: Target, recorded: Recording, concurrency: int) -> None:
        copy_configs(self.launch.command, self.environment, recorded.folder)
        try:
            self.capture.measure(target, recorded, concurrency)
        finally:
            self._copy_log(recorded.folder)
        recorded.finish()

    def _copy_log(self, folder: RunFolder) -> None:
        log = self.first.folder.server_log
        if folder.server_log != log:
            shutil.copyfile(log, folder.server_log)
