"""Which processes the hook of a capture leaves alone, and when memory ends a recording."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.collectors.engines import torch_hook


@pytest.fixture
def modules(monkeypatch):
    """Imports the hook's modules by the names they have in the user's interpreter."""
    monkeypatch.syspath_prepend(Path(torch_hook.__file__).parent)
    yield importlib.import_module
    for name in [name for name in sys.modules if name.startswith("tracekit_torch")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("argv", "is_launcher"),
    [
        (["python", "/opt/venv/bin/torchrun", "--nproc-per-node", "2", "script.py"], True),
        (["python", "-m", "torch.distributed.run", "script.py"], True),
        (["python", "-X", "importtime", "-u", "-m", "torch.distributed.launch", "x.py"], True),
        (["python", "/opt/venv/bin/accelerate", "launch", "script.py"], True),
        (["python", "script.py", "torchrun"], False),
        (["python", "-c", "import torch", "torchrun"], False),
        (["python", "-u", "script.py"], False),
        (["python"], False),
    ],
)
def test_launchers_are_told_by_what_python_runs(modules, argv, is_launcher):
    hook = modules("tracekit_torch_hook")
    assert (hook.program(argv) in hook.LAUNCHERS) is is_launcher


@pytest.mark.parametrize(("available", "is_short"), [(7, True), (9, False)])
def test_memory_is_short_below_a_share_of_it(modules, tmp_path, available, is_short):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable: {available} kB\n")
    assert modules("tracekit_torch_watch").is_memory_short(meminfo) is is_short


def test_memory_that_nothing_tells_of_is_not_short(modules, tmp_path):
    assert not modules("tracekit_torch_watch").is_memory_short(tmp_path / "missing")


def test_the_hook_needs_nothing_but_the_standard_library():
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; import tracekit_torch_hook; print(*sys.modules)"
    )
    folder = Path(torch_hook.__file__).parent
    command = [sys.executable, "-I", "-S", "-c", code, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {name.partition(".")[0] for name in done.stdout.split()} - sys.stdlib_module_names
    assert {name for name in names if not name.startswith("tracekit_torch")} == {"__main__"}
