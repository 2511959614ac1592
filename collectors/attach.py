"""Captures a server that somebody else started, and leaves it as it was."""

import os
from dataclasses import replace

from tracekit.collectors.capture import Capture
from tracekit.collectors.context import run as run_context
from tracekit.collectors.engines.registry import engine_of_server
from tracekit.collectors.health import is_healthy, refuse_unusable_url
from tracekit.collectors.load.protocol import refuse_unusable_key
from tracekit.collectors.options import attached
from tracekit.collectors.secrets import Known, known_secrets, redacted_url
from tracekit.collectors.trace_files import TraceDir
from tracekit.collectors.window import Target
from tracekit.errors import CaptureError


def capture_server(
    capture: Capture,
    url: str,
    trace_dir: TraceDir,
    api_key: str | None,
    engine_name: str | None,
) -> None:
    """Record all runs of the plan on the server at `url`, whose traces appear in `trace_dir`.

    Raises:
        CaptureError: anything that went wrong; what was recorded is in the run folders.
    """
    known = known_secrets(["--api-key", api_key] if api_key else [], os.environ)
    with capture.redacted(known) as redacted:
        _capture(redacted, url, trace_dir, api_key, engine_name, known)


def _capture(
    capture: Capture,
    url: str,
    trace_dir: TraceDir,
    api_key: str | None,
    engine_name: str | None,
    known: Known,
) -> None:
    capture.refuse_taken()
    refuse_unusable_key(api_key)
    refuse_unusable_url(url)
    with capture.clients(url, api_key) as (client, patient):
        if not is_healthy(client):
            place = redacted_url(url)
            raise CaptureError(f"server: nothing healthy answers at {place}; check --url")
        engine, facts = engine_of_server(client, engine_name)
        target = Target(
            engine=engine,
            client=client,
            patient=patient,
            url=url,
            model=facts.served_model,
            trace_dir=trace_dir,
            n_ranks=None,
            job=None,
            api_key=api_key,
        )
        context = run_context.of_server(engine.name, facts)
        profile, context["options"] = attached(
            capture.plan.profile, engine.name, engine.taken_while_running
        )
        capture = replace(capture, plan=replace(capture.plan, profile=profile))
        context["url"] = redacted_url(url, known)
        for run in capture.plan.runs:
            with (
                capture.recording(run, context, known) as recorded,
                capture.memory_watched(lambda: None),
            ):
                capture.measure(target, recorded, run.concurrency)
                recorded.finish()
