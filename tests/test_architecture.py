"""The shape of the code base: who may import whom, what ships, how long things get."""

import ast
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
FOLDERS = {folder: name for name, folder in SETUPTOOLS["package-dir"].items()}
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

PARTS = {
    "core": "errors units limits lock script run schema views store place guard sandbox marlin"
    " rules taxonomy colors readers derive draft_check __version__",
    "collectors": "collectors",
    "queries": "queries",
    "api": "api database open ingest whatif",
    "cli": "cli __main__",
    "report": "report",
    "app": "app",
}
PART_OF_NAME = {name: part for part, names in PARTS.items() for name in names.split()}
MAY_IMPORT = {
    "core": set(),
    "collectors": {"core"},
    "queries": {"core"},
    "api": {"core", "collectors", "queries"},
    "cli": {"core", "collectors", "queries", "api", "report"},
    "report": {"core", "queries", "api", "cli"},  # in the words of the pages
    "app": {"core", "queries", "api", "cli", "report"},  # in the words of pages and reports
}
TORCH_HOOK = {
    path.stem
    for folder in ("engines/torch_hook", "bench/worker")
    for path in (ROOT / "collectors" / folder).glob("tracekit_*.py")
}
MAY_USE = {
    "core": {"duckdb", "fsspec", "isal", "zstandard", "prometheus_client"},
    "collectors": {"httpx", "torch", *TORCH_HOOK},  # torch: where a user's program has loaded it
    "queries": {"duckdb"},
    "api": {"duckdb", "pandas", "pyarrow"},  # the last two as types only: test_import_hygiene
    "cli": {"click", "rich"},
    "report": {"jinja2", "markupsafe"},
    "app": {"altair", "pandas", "pyarrow", "starlette", "streamlit", "uvicorn"},
}
STANDALONE = [
    path
    for path in (ROOT / "collectors").rglob("*.py")
    if path.stem.endswith("_probe") or path.parent.name in ("torch_hook", "vllm_plugin", "worker")
]
"""Run in the Python of somebody else, where tracekit is not."""

READ_BY_COLLECTORS = {"tracekit.readers.serve_command", "tracekit.readers.values"}
"""A command line is no raw file."""
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 50


def part_of(module):
    """The part of tracekit a dotted name belongs to; None for other packages."""
    first, *rest = module.split(".")
    if first != "tracekit":
        return None
    return PART_OF_NAME[rest[0]] if rest else "api"


def module_of(path):
    relative = path.relative_to(ROOT).with_suffix("")
    names = [FOLDERS[relative.parts[0]], *relative.parts[1:]]
    return ".".join(names).removesuffix(".__init__")


def tree_of(path):
    return ast.parse(path.read_text())


def imported_modules(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_go_one_way(path):
    home = part_of(module_of(path))
    reached = {part_of(module) for module in imported_modules(path)} - {None, home}
    assert reached <= MAY_IMPORT[home]


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_other_packages_are_the_ones_its_part_may_use(path):
    names = {module.split(".")[0] for module in imported_modules(path)}
    foreign = names - sys.stdlib_module_names - {"tracekit"}
    assert foreign <= MAY_USE[part_of(module_of(path))]


@pytest.mark.parametrize("path", STANDALONE, ids=module_of)
def test_what_runs_in_another_python_knows_nothing_of_tracekit(path):
    names = {module.split(".")[0] for module in imported_modules(path)}
    assert names - sys.stdlib_module_names <= {"torch", *TORCH_HOOK}


def test_collectors_never_parse_what_they_record():
    of_readers = {
        module.rpartition(".")[0]
        for path in (ROOT / "collectors").rglob("*.py")
        for module in imported_modules(path)
        if module.startswith("tracekit.readers")
    }
    assert of_readers <= READ_BY_COLLECTORS


def test_secrets_pass_through_one_door():
    behind = ("tracekit.collectors.secrets.names", "tracekit.collectors.secrets.text")
    users = {
        path.parent
        for path in SOURCES
        for module in imported_modules(path)
        if module.startswith(behind)
    }
    assert users == {ROOT / "collectors" / "secrets"}


def test_modules_do_not_import_each_other_in_a_circle():
    modules = {module_of(path): path for path in SOURCES}
    del modules["tracekit"]  # its names are lazy
    graph = {
        name: {found for found in map(modules_above(modules), imported_modules(path)) if found}
        for name, path in modules.items()
    }
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def modules_above(modules):
    """The module that an imported name is, or is in."""

    def found(name):
        while name and name not in modules:
            name = name.rpartition(".")[0]
        return name

    return found


def test_every_package_ships():
    packages = {module_of(path.parent) for path in SOURCES if path.name == "__init__.py"}
    assert packages == set(SETUPTOOLS["packages"])


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_files_stay_short(path):
    assert len(path.read_text().splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_functions_stay_short(path):
    functions = [
        node
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    too_long = [f.name for f in functions if f.end_lineno - f.lineno >= MAX_FUNCTION_LINES]
    assert too_long == []
