"""Runs in the user's Python as `python -c`: what its torch can do, as JSON; see `plan`."""

from __future__ import annotations

import json


def told() -> dict[str, object]:
    """`torch` is its version, None where there is none; `gpu_bytes` is of the smallest."""
    try:
        import torch
        from torch import distributed
    except ImportError as error:
        return {"torch": None, "problem": str(error)}
    has = {
        "gloo": distributed.is_available() and distributed.is_gloo_available(),
        "nccl": distributed.is_available() and distributed.is_nccl_available(),
    }
    n_gpus = torch.cuda.device_count()
    sizes = [torch.cuda.get_device_properties(gpu).total_memory for gpu in range(n_gpus)]
    return {
        "torch": str(torch.__version__),
        "backends": [name for name in has if has[name]],
        "n_gpus": n_gpus,
        "gpu_bytes": min(sizes, default=None),
    }


print(json.dumps(told()))  # noqa: T201 - what it is run for
