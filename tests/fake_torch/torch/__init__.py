"""A stand-in for torch: as much of it as a recorded script touches, and a strict profiler."""

from torch import autograd, cuda, distributed, nn, optim, profiler, version
from torch.tensors import Tensor, bfloat16, dtype, empty, int64, tensor, zeros

__version__ = "2.9.0"
__all__ = [
    "Tensor",
    "autograd",
    "bfloat16",
    "cuda",
    "distributed",
    "dtype",
    "empty",
    "int64",
    "nn",
    "optim",
    "profiler",
    "tensor",
    "version",
    "zeros",
]
