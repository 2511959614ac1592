"""Where a server will listen and how many ranks it has, from its arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracekit.errors import CaptureError
from tracekit.readers.serve_command import count, options_of

NOT_HERE = {
    "uds": "a capture needs TCP",
    "ssl-certfile": "a capture talks plain HTTP",
    "ssl-keyfile": "a capture talks plain HTTP",
    "headless": "a capture needs the node that answers requests",
}
"""Options of a server that a capture could not reach."""

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
_SIZES = (
    ("tensor-parallel-size", "tp"),
    ("pipeline-parallel-size", "pp"),
    ("data-parallel-size", "dp"),
)


@dataclass(frozen=True, slots=True)
class Served:
    """A server to be; `n_ranks` on this machine, None where the arguments do not tell."""

    url: str
    n_ranks: int | None
    api_key: str | None = field(repr=False)


def served_by(arguments: Sequence[str], environment: Mapping[str, str], *, port: int) -> Served:
    """What vLLM's arguments say; `port` is where it listens by default.

    Raises:
        CaptureError: it could not be reached.
    """
    options = options_of(arguments)
    for name, why in NOT_HERE.items():
        if name in options:
            raise CaptureError(f"--{name}: {why}; leave it out for the capture")
    return Served(
        url=_url(options.get("host", ""), count(options.get("port")) or port),
        n_ranks=_n_ranks(options),
        api_key=options.get("api-key") or environment.get("VLLM_API_KEY"),
    )


def _url(host: str, port: int) -> str:
    host = _EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _n_ranks(options: Mapping[str, str]) -> int | None:
    if "config" in options or "nnodes" in options or "data-parallel-size-local" in options:
        return None  # a file, or other machines, have a say
    n_ranks = 1
    for names in _SIZES:
        n_ranks *= next((count(options[name]) or 1 for name in names if name in options), 1)
    return n_ranks
