"""Writes synthetic profiler traces of LLM serving, one run folder per dialect, with the truth.

Usage: python sample_traces/generate.py OUT [--dialect NAME ...] [--ranks N] [--steps N] [--seed N]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from generator.dialects import DIALECTS
from generator.folder import write
from generator.profiling import Size


def main(arguments: list[str]) -> int:
    """Generate what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description="Synthetic Kineto traces with their exact truth.")
    parser.add_argument("out", type=Path, nargs="?", help="folder to write run folders into")
    parser.add_argument("--dialect", action="append", choices=DIALECTS, metavar="NAME")
    parser.add_argument("--ranks", type=int, help="ranks per engine (default: the dialect's)")
    parser.add_argument("--steps", type=int, help="steps (default: the dialect's)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="list the dialects and stop")
    options = parser.parse_args(arguments)
    if options.list:
        for name, dialect in DIALECTS.items():
            sys.stdout.write(f"{name:32} {(dialect.__doc__ or '').splitlines()[0]}\n")
        return 0
    if options.out is None:
        parser.error("OUT is needed")
    size = Size(options.ranks, options.steps, options.seed)
    for name in options.dialect or DIALECTS:
        write(DIALECTS[name](size), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
