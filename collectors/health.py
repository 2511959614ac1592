"""Whether a server answers: that its port is free before, that it is healthy after."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

import httpx

from tracekit.collectors.process.job import Job
from tracekit.errors import CaptureError

POLL_S = 0.5
ANSWER_TIMEOUT_S = 5.0


def refuse_taken_port(url: str) -> None:
    """Raise CaptureError where something listens at `url` already."""
    place = urlsplit(url)
    address = place.hostname, place.port or 80
    with suppress(OSError), socket.create_connection(address, timeout=1):
        raise CaptureError(
            f"port {address[1]}: taken, something listens at {url}; end it, give the server "
            f"another --port, or capture what runs there with --url {url}"
        )


def wait_until_healthy(
    server: Job, client: httpx.Client, patience_s: float, waiting: Callable[[], None]
) -> None:
    """Return when the server says it is healthy; `waiting` is called again and again meanwhile.

    Raises:
        CaptureError: it ended, or was not healthy in time.
    """
    deadline = time.monotonic() + patience_s
    while not is_healthy(client):
        if server.exit_code is not None:
            raise CaptureError(ended("server", server))
        if time.monotonic() > deadline:
            raise CaptureError(
                f"server: not healthy after {patience_s:.0f} s at {client.base_url}; "
                f"look into {server.log}, check host and port, or raise --start-timeout"
            )
        waiting()
        time.sleep(POLL_S)


def is_healthy(client: httpx.Client) -> bool:
    """Whether the server answers, and says that it is well."""
    with suppress(httpx.HTTPError):
        return client.get("/health", timeout=ANSWER_TIMEOUT_S).is_success
    return False


def ended(what: str, job: Job) -> str:
    """How a job ended, as a message."""
    code = job.exit_code or 0
    how = f"killed by signal {-code}" if code < 0 else f"exited with {code}"
    return f"{what}: {how}; its last lines are above, all are in {job.log}"
