"""A window: the load once, with /metrics before and after, under the profiler or not."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from tracekit.collectors.context.gpu import gpus_sampled
from tracekit.collectors.engine import ServingEngine
from tracekit.collectors.load.protocol import Load, LoadSummary, LoadWindow
from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.process.job import GRACE_S, WRITING_GRACE_S, Job
from tracekit.collectors.process.signals import Signals
from tracekit.collectors.recording import Recording
from tracekit.collectors.report import Report
from tracekit.collectors.run_folder import UNPROFILED, RunFolder
from tracekit.collectors.trace_files import TraceDir
from tracekit.errors import CaptureError

GIVE_UP_S = 5.0
"""Time to stop the profiler when the capture is given up: the server goes on without us."""

_TOKENS = b":generation_tokens_total{"


@dataclass(frozen=True, slots=True)
class Target:
    """A server that answers.

    `client` is for short answers, `patient` for those that come when traces are written.
    `job` is None where somebody else started it.
    """

    engine: ServingEngine
    client: httpx.Client
    patient: httpx.Client
    url: str
    model: str
    trace_dir: TraceDir
    n_ranks: int | None
    job: Job | None
    api_key: str | None


@dataclass(frozen=True, slots=True)
class WindowRun:
    """What runs in a window: `load` against `target`, recorded into `folder`."""

    target: Target
    load: Load
    recorded: Recording
    concurrency: int
    stop: threading.Event
    report: Report
    signals: Signals

    @property
    def folder(self) -> RunFolder:
        """Where it is recorded."""
        return self.recorded.folder

    def warm_up(self, name: str) -> None:
        """Run the load and keep nothing of it."""
        self._run_load(name)
        self.folder.load_rows(name).unlink(missing_ok=True)

    def unprofiled(self, name: str) -> None:
        """Run the load; what may be amiss with it is told in the first such window alone."""
        window = self._measured(name)
        self.recorded.add_window({**window, "is_profiled": False})
        if name != UNPROFILED:
            return
        if window["metrics_before"] is None:
            self.report.note("no counters: /metrics is not there; SGLang has --enable-metrics")
        self._tell_unreached(window["n_requests_at_once"])

    def _tell_unreached(self, reached: object) -> None:
        if isinstance(reached, int) and reached < self.concurrency:
            self.report.note(
                f"concurrency: {self.concurrency} was asked for, at most {reached} "
                f"{'request was' if reached == 1 else 'requests were'} on the way at a time; "
                "take more --requests, or a longer --output-len"
            )

    def profiled(self, name: str, options: ProfileOptions) -> None:
        """Run the load under the profiler and bring its traces into the run folder."""
        target, engine = self.target, self.target.engine
        before = target.trace_dir.stamps()
        try:
            with self._given_up():
                self._may_take(WRITING_GRACE_S)
                engine.start_profile(target.patient, options, target.trace_dir.inside, name)
                with self._stopped_where_it_fails():
                    window = {**self._measured(name), "is_profiled": True}
            self.recorded.add_window(window)
            self.report.stage("waiting for the ranks to write their traces")
            began = time.time_ns()
            engine.stop_profile(target.patient)
            window["stop_profile_ns"] = time.time_ns() - began
            target.trace_dir.wait_for_ranks(before, engine, target.n_ranks)
            self._may_take(GRACE_S)
        finally:
            target.trace_dir.take_new(before, self.folder)

    def _may_take(self, grace_s: float) -> None:
        """How long a server of ours may take to end."""
        if self.target.job:
            self.target.job.grace_s = grace_s

    @contextmanager
    def _given_up(self) -> Iterator[None]:
        """On Ctrl-C leave somebody else's server without a profiler that goes on and fills it."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.target.trace_dir.is_ours:
                with suppress(OSError):  # the terminal may be closed
                    self.report.note(f"stopping: the server's profiler, {GIVE_UP_S:.0f} s at most")
                self.target.client.timeout = httpx.Timeout(GIVE_UP_S)
                with suppress(httpx.HTTPError):
                    self.target.engine.stop_profile(self.target.client)
            raise

    @contextmanager
    def _stopped_where_it_fails(self) -> Iterator[None]:
        """Stop the profiler after a load that failed: what it recorded may show why."""
        try:
            yield
        except (CaptureError, httpx.HTTPError, OSError):
            with suppress(httpx.HTTPError):
                self.target.engine.stop_profile(self.target.patient)
            raise

    def _measured(self, name: str) -> dict[str, object]:
        from_byte = self._log_size()
        before = self._save_metrics(self.folder.metrics(name, "before"))
        samples = self.folder.gpu_samples(name)
        with gpus_sampled(samples, self.report, self.signals):
            summary = self._run_load(name)
        after = self._save_metrics(self.folder.metrics(name, "after"))
        if summary.n_requests is None and before and after:
            self._refuse_idle(name)
        return {
            "name": name,
            "concurrency": self.concurrency,
            "start_ns": summary.start_ns,
            "dur_ns": summary.dur_ns,
            "n_requests": summary.n_requests,
            "n_emitted_tokens": summary.n_tokens,
            "n_requests_at_once": summary.n_at_once,
            "metrics_before": before,
            "metrics_after": after,
            "log": self._log_part(from_byte),
            "load": self.folder.if_written(self.folder.load_rows(name)),
            "gpu_samples": self.folder.if_written(samples),
        }

    def _refuse_idle(self, name: str) -> None:
        """A load command that sends nothing, or elsewhere, leaves nothing to profile."""
        before, after = (
            _generated(self.folder.metrics(name, moment)) for moment in ("before", "after")
        )
        if before and before == after:
            raise CaptureError(
                f"load: the server generated no token in window {name}; "
                "make the command of --load send its requests to {url}"
            )

    def _run_load(self, name: str) -> LoadSummary:
        target = self.target
        window = LoadWindow(
            url=target.url,
            model=target.model,
            name=name,
            concurrency=self.concurrency,
            folder=self.folder,
            api_key=target.api_key,
            known=self.recorded.known,
        )
        return self.load.run(window, self.stop)

    def _save_metrics(self, path: Path) -> str | None:
        """The path; None where the server does not count: SGLang without --enable-metrics."""
        answer = self.target.client.get("/metrics")
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        path.write_bytes(answer.raise_for_status().content)
        return self.folder.relative(path)

    def _log_size(self) -> int:
        return self.target.job.log_size() if self.target.job else 0

    def _log_part(self, from_byte: int) -> dict[str, object] | None:
        if self.target.job is None:
            return None
        path = self.folder.relative(self.folder.server_log)
        return {"path": path, "from_byte": from_byte, "to_byte": self._log_size()}


def _generated(metrics: Path) -> list[bytes]:
    """The lines of /metrics that change with every token, as they are."""
    return [line for line in metrics.read_bytes().splitlines() if _TOKENS in line]
