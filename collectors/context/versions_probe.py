"""Runs in the server's Python as `python -c`: prints versions as JSON, imports no engine.

0.1 s, where `import torch` takes seconds. Of use alone, on any Python from 3.8; `versions`
asks it.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = re.compile(
    r"aiter|amd[-_].*|apex|bitsandbytes|compressed[-_]tensors|cuda[-_].*|cupy.*|deep[-_](ep|gemm).*"
    r"|flash[-_]?attn.*|flashinfer.*|gptqmodel|lmcache|mooncake.*|nixl.*|numpy|nvidia[-_].*|nvtx"
    r"|pytorch[-_]triton.*|quack.*|ray|rocm.*|safetensors|sgl[-_].*|sglang.*|tilelang|tokenizers"
    r"|torch.*|transformers|triton.*|vllm.*|xformers|xgrammar"
)


def packages() -> dict[str, str]:
    """Versions of all installed packages that take part in serving, by normal name."""
    found: dict[str, str] = {}
    for package in metadata.distributions():
        name = (package.metadata["Name"] or "").lower().replace("_", "-")
        if PACKAGES.fullmatch(name):
            found.setdefault(name, package.version)  # the first on the path is the one imported
    return dict(sorted(found.items()))


def torch_build() -> dict[str, object]:
    """What torch was built for: the constants of torch/version.py."""
    spec = importlib.util.find_spec("torch")
    path = Path(spec.origin).with_name("version.py") if spec and spec.origin else None
    if path is None or not path.is_file():
        return {}
    found: dict[str, object] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name):
                found[target.id] = node.value.value
    return found


def main() -> None:
    """Print the versions."""
    if sys.path[0] == "":  # of `-c`: the current folder, which `vllm serve` does not look into
        sys.path.append(sys.path.pop(0))
    found = packages()
    build = torch_build()
    nccl = [found[name] for name in found if re.fullmatch(r"nvidia-nccl-cu\d+", name)]
    told = {
        "python": platform.python_version(),
        "vllm": found.get("vllm"),
        "sglang": found.get("sglang"),
        "torch": build.get("__version__") or found.get("torch"),
        "cuda": build.get("cuda"),
        "hip": build.get("hip"),
        "nccl": nccl[0] if nccl else None,
        "packages": found,
    }
    print(json.dumps(told))  # noqa: T201 - what it is run for


main()
