"""Whether a server answers: that its port is free before, that it is healthy after."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

import httpx

from tracekit.collectors.process.job import Job
from tracekit.collectors.secrets import redacted_url
from tracekit.errors import CaptureError

POLL_S = 0.5
ANSWER_TIMEOUT_S = 5.0
_SHOWN_CHARACTERS = 100


def refuse_unusable_url(url: str) -> None:
    """Raise CaptureError where `url` names no host and port that could be asked for."""
    try:
        httpx.URL(url).host.encode("idna")
        is_usable = urlsplit(url).port != 0
    except (httpx.InvalidURL, ValueError):  # a UnicodeError is one
        is_usable = False
    if not is_usable:
        raise CaptureError(
            f"{redacted_url(url)[:_SHOWN_CHARACTERS]}: no address that a server can have; "
            "check host and port"
        )


def refuse_taken_port(url: str) -> None:
    """Raise CaptureError where something listens at `url` already."""
    refuse_unusable_url(url)
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


def ended(what: str, job: Job, cause: str = "") -> str:
    """How a job ended, as a message that needs nothing beside it."""
    code = job.exit_code or 0
    how = f"killed by signal {-code}" if code < 0 else f"exited with {code}"
    return f"{what}: {how}{f': {cause}' if cause else ''}; all it said is in {job.log}"
