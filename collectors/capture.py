"""What every capture does: a run folder per concurrency, the same windows in each."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import httpx

from tracekit.collectors.certificates import is_verified
from tracekit.collectors.context.machine import machine
from tracekit.collectors.context.memory import MemoryRoom, MemoryWatch
from tracekit.collectors.failures import explained, profiler_explained
from tracekit.collectors.load.protocol import Load
from tracekit.collectors.options import Patience, ProfileOptions
from tracekit.collectors.process.signals import Signals
from tracekit.collectors.recording import Recording, recording
from tracekit.collectors.report import RedactedReport, Report
from tracekit.collectors.run_folder import PROFILED, RunFolder, unprofiled_names
from tracekit.collectors.secrets import Known, errors_redacted
from tracekit.collectors.size import refuse_small_disk
from tracekit.collectors.trace_files import check_ranks
from tracekit.collectors.window import Target, WindowRun
from tracekit.errors import CaptureError

ANSWER_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 10.0


class Run(NamedTuple):
    """One run of a capture: its concurrency, and where it is recorded."""

    concurrency: int
    folder: RunFolder


@dataclass(frozen=True, slots=True)
class Plan:
    """What a capture is to do: the load and its windows for each run.

    `replaces`: runs of the same names are removed.
    """

    runs: tuple[Run, ...]
    profile: ProfileOptions
    load: Load
    n_warmups: int
    patience: Patience
    replaces: bool = False
    n_unprofiled: int = 1


@dataclass(frozen=True, slots=True)
class Capture:
    """A plan being carried out; `stop` ends a load early."""

    plan: Plan
    report: Report
    signals: Signals
    stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def redacted(self, known: Known) -> Iterator["Capture"]:
        """The same capture, nothing of which shows a secret: neither its report nor its errors."""
        with errors_redacted(known):
            yield replace(self, report=RedactedReport(self.report, known))

    def refuse_taken(self) -> None:
        """Raise CaptureError where one of the run folders is there already."""
        for run in self.plan.runs:
            if self.plan.replaces:
                run.folder.refuse_irreplaceable()
            else:
                run.folder.refuse_taken()

    @contextmanager
    def recording(
        self, run: Run, context: Mapping[str, object], known: Known
    ) -> Iterator[Recording]:
        """Record a run into its folder; whatever goes wrong leaves as one CaptureError."""
        folder = run.folder
        if self.plan.replaces:
            folder.remove()
        with (
            explained(folder.path, known),
            recording(folder, {**context, "concurrency": run.concurrency}, known) as recorded,
            explained(folder.path, known),
        ):
            recorded.add(machine=machine(folder.machine))
            yield recorded

    def tell_size(self, n_ranks: int | None) -> None:
        """Say how large the traces will be; raises CaptureError where there is no room."""
        options, runs = self.plan.profile, self.plan.runs
        self.report.note(refuse_small_disk(runs[0].folder, options, n_ranks, len(runs)))

    def measure(self, target: Target, recorded: Recording, concurrency: int) -> None:
        """Warm up, then run the load without the profiler and once with it."""
        run = WindowRun(
            target=target,
            load=self.plan.load,
            recorded=recorded,
            concurrency=concurrency,
            stop=self.stop,
            report=self.report,
            signals=self.signals,
        )
        recorded.add(load={**self.plan.load.describe(), "warmups": self.plan.n_warmups})
        of_run = f"{recorded.folder.name}: "
        for number in range(self.plan.n_warmups):
            self.report.stage(f"{of_run}warming up")
            run.warm_up(f"warmup{number}")
        for name in unprofiled_names(self.plan.n_unprofiled):
            self.report.stage(f"{of_run}load without profiler")
            run.unprofiled(name)
        self.report.stage(f"{of_run}load under the profiler")
        with profiler_explained(target.engine, self.plan.patience.stop_profile_s, recorded.known):
            run.profiled(PROFILED, self.plan.profile)
        check_ranks(recorded.folder, target.engine, target.n_ranks)

    @contextmanager
    def memory_watched(self, end: Callable[[], None]) -> Iterator[None]:
        """End the load and call `end` before the machine's memory runs out."""

        def on_low(_: MemoryRoom) -> None:
            self.stop.set()
            end()

        with MemoryWatch(on_low) as watch:
            try:
                yield
            except (CaptureError, httpx.HTTPError) as error:
                if watch.low is None:
                    raise
                raise CaptureError(
                    f"memory: {watch.low}, so the capture ended itself; take fewer --steps, "
                    "leave out --stacks and --shapes, or make the server smaller"
                ) from error

    @contextmanager
    def clients(self, url: str, api_key: str | None) -> Iterator[tuple[httpx.Client, httpx.Client]]:
        """One for short answers, one that waits as long as traces take to write."""
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        timeouts = (
            httpx.Timeout(seconds, connect=CONNECT_TIMEOUT_S)
            for seconds in (ANSWER_TIMEOUT_S, self.plan.patience.stop_profile_s)
        )
        short, patient = (
            httpx.Client(
                base_url=url,
                headers=headers,
                timeout=timeout,
                verify=is_verified(url),
                trust_env=False,
            )
            for timeout in timeouts
        )
        with short, patient:
            yield short, patient
