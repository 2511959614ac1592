"""A stand-in for torch: as much of it as a recorded script touches, and a strict profiler."""

from torch import autograd, distributed, nn, optim, profiler, version

__version__ = "2.9.0"
__all__ = ["autograd", "distributed", "nn", "optim", "profiler", "version"]
