"""What the command lines of servers have in common: where they listen, how they are sized."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from tracekit.errors import CaptureError
from tracekit.readers.values import count

NOT_HERE = {
    "uds": "a capture needs TCP",
    "ssl-certfile": "a capture talks plain HTTP",
    "ssl-keyfile": "a capture talks plain HTTP",
    "headless": "a capture needs the node that answers requests",
}
"""Options of a server that a capture could not reach."""

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def place_of(command: Sequence[str], *, program: str, module: str) -> int | None:
    """Where the word is that starts a server: `program` before `serve`, or its module."""
    for place, word in enumerate(command):
        if word.startswith(module):
            return place
        if PurePath(word).name == program and list(command[place + 1 : place + 2]) == ["serve"]:
            return place
    return None


def url_of(options: Mapping[str, str], *, port: int) -> str:
    """Where the server listens; `port` is its own default.

    Raises:
        CaptureError: it could not be reached.
    """
    for name, why in NOT_HERE.items():
        if name in options:
            raise CaptureError(f"--{name}: {why}; leave it out for the capture")
    host = options.get("host", "")
    host = _EVERYWHERE.get(host, host)
    port = count(options.get("port")) or port
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def size(options: Mapping[str, str], *names: str) -> int:
    """A degree of parallelism, under the first of its names that is given; 1 where none is."""
    return next((count(options[name]) or 1 for name in names if name in options), 1)
