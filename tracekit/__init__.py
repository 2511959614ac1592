"""Where a served language model's decode time goes: profiler traces in, exact numbers out."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracekit.api import ingest, open

__version__ = "0.1.0"
__all__ = ["__version__", "ingest", "open"]


def __getattr__(name: str) -> object:
    """Load the library only when one of its names is used: `tracekit --help` stays quick."""
    if name in __all__:
        return getattr(import_module("tracekit.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
