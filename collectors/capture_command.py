"""Captures a command: starts it so that it can be profiled, records, ends it."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracekit.collectors import run_context
from tracekit.collectors.capture import Capture
from tracekit.collectors.engine import Engine, Launch
from tracekit.collectors.engines import engine_of_command, engine_of_server
from tracekit.collectors.failures import blamed_on
from tracekit.collectors.health import ended, refuse_taken_port, wait_until_healthy
from tracekit.collectors.nccl_log import nccl_log
from tracekit.collectors.process import Server, running
from tracekit.collectors.recording import Recording
from tracekit.collectors.run_folder import RunFolder
from tracekit.collectors.secrets import Known, known_secrets, redacted_text
from tracekit.collectors.trace_files import TraceDir, check_ranks
from tracekit.collectors.versions import versions_of
from tracekit.collectors.window import Target
from tracekit.errors import CaptureError

POLL_S = 0.5


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
    capture.refuse_taken()
    engine = engine_of_command(command, engine_name)
    known = known_secrets(command, environment)
    context = run_context.of_command(engine.name, command, environment, known)
    with capture.recording(capture.plan.runs[0], context, known) as recorded:
        launch = engine.launch(command, environment, capture.plan.profile, recorded.folder)
        launch = launch if url is None else replace(launch, url=url)
        to_start = {**environment, **launch.env}
        versions = versions_of(launch.python, to_start)
        to_start |= _nccl_log(capture, to_start, recorded.folder, versions)
        recorded.add(**run_context.of_launch(launch, to_start, known), versions=versions)
        capture.tell_size(launch.n_ranks or 1)
        _Started(capture, engine, launch, recorded, known).run(to_start)


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
    for note in log.notes:
        capture.report.note(note)
    return log.env


@dataclass(frozen=True, slots=True)
class _Started:
    """A command about to be started; `first` is the run whose folder has its log and traces."""

    capture: Capture
    engine: Engine
    launch: Launch
    first: Recording
    known: Known

    def run(self, environment: Mapping[str, str]) -> None:
        """Start it, record, end it."""
        url, signals = self.launch.url, self.capture.signals
        if url is not None:
            refuse_taken_port(url)
        for note in self.launch.notes:
            self.capture.report.note(note)
        log = self.first.folder.server_log
        with (
            running(self.launch.command, environment, log, signals) as server,
            self.capture.memory_watched(server.kill),
            blamed_on(server, self.capture.report, self.known),
        ):
            if url is None:
                self._wait_for_end(server)
            else:
                self._record_all(server, url)

    def _tell_news(self, server: Server) -> None:
        self.capture.report.detail(redacted_text("".join(server.tail(1)), self.known))

    def _wait_for_end(self, script: Server) -> None:
        self.capture.report.stage(f"{self.first.folder.name}: the script runs")
        while script.exit_code is None:
            self._tell_news(script)
            time.sleep(POLL_S)
        if script.exit_code != 0:
            raise CaptureError(ended(script))
        check_ranks(self.first.folder, self.engine, self.launch.n_ranks)
        self.first.finish()

    def _record_all(self, server: Server, url: str) -> None:
        capture, launch = self.capture, self.launch
        capture.report.stage("waiting for the server to become healthy")
        with capture.clients(url, launch.api_key) as (client, patient):
            wait_until_healthy(
                server, client, capture.plan.patience.start_s, lambda: self._tell_news(server)
            )
            engine, facts = engine_of_server(client, self.engine.name)
            self.first.add(**run_context.of_server(engine.name, facts, self.known))
            target = Target(
                engine=engine,
                client=client,
                patient=patient,
                url=url,
                model=facts.served_model,
                trace_dir=TraceDir(launch.trace_dir, str(launch.trace_dir), is_ours=True),
                n_ranks=launch.n_ranks,
                log_size=server.log_size,
                api_key=launch.api_key,
            )
            self._measure_all(target)
        capture.report.stage("stopping the server")

    def _measure_all(self, target: Target) -> None:
        (concurrency, _), *others = self.capture.plan.runs
        self._measure(target, self.first, concurrency)
        for run in others:
            with self.capture.recording(run, self.first.context, self.known) as recorded:
                self._measure(target, recorded, run[0])

    def _measure(self, target: Target, recorded: Recording, concurrency: int) -> None:
        try:
            self.capture.measure(target, recorded, concurrency)
        finally:
            self._copy_log(recorded.folder)
        recorded.finish()

    def _copy_log(self, folder: RunFolder) -> None:
        log = self.first.folder.server_log
        if folder.server_log != log:
            shutil.copyfile(log, folder.server_log)
