"""The generator of synthetic runs, as its users call it."""

import subprocess
import sys
from functools import cache
from pathlib import Path

GENERATE = Path(__file__).parents[1] / "sample_traces" / "generate.py"


def generate(out, *arguments):
    """Run the generator; gives what it prints."""
    command = [sys.executable, str(GENERATE), str(out), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@cache
def dialects():
    """Names of all dialects."""
    return tuple(line.split()[0] for line in generate(".", "--list").splitlines())
