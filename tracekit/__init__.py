"""Where a served language model's decode time goes: profiler traces in, exact numbers out."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracekit.api import ingest, open
    from tracekit.collectors.profile import profile

__version__ = "0.1.0"
__all__ = ["__version__", "ingest", "open", "profile"]

_MODULES = {
    "ingest": "tracekit.api",
    "open": "tracekit.api",
    "profile": "tracekit.collectors.profile",
}


def __getattr__(name: str) -> object:
    """Load the library only when one of its names is used: `tracekit --help` stays quick."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
