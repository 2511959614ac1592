"""Versions, asked of Pythons that have them, have none, or are none."""

import os
import sys

import pytest

from tracekit.collectors.context import versions as module
from tracekit.collectors.context.versions import versions_of


def install(folder, name, version):
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.fixture
def told(tmp_path):
    """What a Python tells that has a CUDA build of torch, which fails when it is imported."""
    for name, version in {
        "vllm": "0.32.0",
        "torch": "2.13.0",
        "nvidia-nccl-cu13": "2.29.2",
        "nvidia-cuda-runtime": "13.0.1",
        "flashinfer-python": "0.9",
        "requests": "2",
    }.items():
        install(tmp_path, name, version)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('torch was imported')")
    (tmp_path / "torch" / "version.py").write_text(
        "from typing import Optional\n__all__ = ['cuda']\n__version__ = '2.13.0+cu130'\n"
        "cuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n"
    )
    return versions_of((sys.executable,), {**os.environ, "PYTHONPATH": str(tmp_path)})


def test_versions_of_a_cuda_build(told):
    packages = told.pop("packages")
    assert told == {
        "python": "{}.{}.{}".format(*sys.version_info),
        "vllm": "0.32.0",
        "sglang": None,
        "torch": "2.13.0+cu130",
        "cuda": "13.0",
        "hip": None,
        "nccl": "2.29.2",
    }
    assert packages["flashinfer-python"] == "0.9"
    assert "requests" not in packages


def test_a_python_that_is_not_there():
    assert versions_of(("no-such-python",), os.environ) == {"problem": "no-such-python: not found"}


@pytest.mark.parametrize("script", ["echo hello", ":", "echo [1]", "echo '{'"])
def test_a_command_that_is_no_python(script):
    problem = versions_of(("sh", "-c", script), os.environ)
    assert list(problem) == ["problem"]


def test_a_python_that_hangs(monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT_S", 0.3)
    problem = versions_of(("sh", "-c", "sleep 1000"), os.environ)["problem"]
    assert problem.endswith("no answer in 0.3 s")
