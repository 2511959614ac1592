"""The command must start quickly and work where no extra is installed."""

import subprocess
import sys

import pytest

HEAVY = {"torch", "vllm", "streamlit", "pandas", "polars", "pyarrow", "numpy", "hta", "jinja2"}
PROBE = """
import sys
try:
    {statement}
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "import tracekit",
        "from tracekit.cli import main; main(['--help'])",
        "import tracekit.api",
    ],
)
def test_starting_up_loads_nothing_heavy(statement):
    command = [sys.executable, "-c", PROBE.format(statement=statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "tracekit" in loaded
    assert loaded.isdisjoint(HEAVY)
