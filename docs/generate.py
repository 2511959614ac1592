"""Writes what the documentation quotes from the software: `make docs` runs it, a test compares.

README.md             tables of commands and views, what the commands shown print
docs/sql.md           columns of the views, from their comments in the database
docs/notebook.ipynb   outputs of its cells
docs/breakdown.svg    `tracekit breakdown` of the synthetic story, as a terminal shows it
"""

import ast
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import duckdb
from rich.console import Console
from rich.text import Text

from tracekit import queries, schema
from tracekit.cli import main
from tracekit.queries.header import Param, Query

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
README = ROOT / "README.md"
PICTURE = DOCS / "breakdown.svg"
PICTURED = "story_baseline"
WIDTH = 80


def update_readme(text: str) -> str:
    """The README with its tables and the output of its commands."""
    text = fill(text, "commands", _table(("command", "what it gives"), _commands()))
    text = fill(text, "views", _table(("view", "what it holds"), _views()))
    with workplace() as folder:
        return re.sub(
            r"(```console\n)(.*?)(```)", lambda block: _rerun(block, folder), text, flags=re.S
        )


def update_sql(text: str) -> str:
    """docs/sql.md with the columns of each view and the parameters of each report."""
    reports = [query for query in queries.catalog() if query.kind == "report"]
    text = fill(text, "views", "\n".join(map(_view_section, views())))
    return fill(text, "reports", "\n".join(map(_report_section, reports)))


def update_notebook(text: str) -> str:
    """The notebook with the outputs of its code cells, run in order in the folder docs."""
    notebook = json.loads(text)
    namespace: dict[str, object] = {}
    with contextlib.chdir(DOCS):
        for n, cell in enumerate(c for c in notebook["cells"] if c["cell_type"] == "code"):
            cell["execution_count"] = n + 1
            cell["outputs"] = _run_cell("".join(cell["source"]), namespace, n + 1)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def pictured_page(run: Path) -> str:
    """What `tracekit breakdown` prints for the story's baseline, whose run folder is `run`."""
    with workplace() as folder:
        tracekit(["ingest", str(run)], folder)
        return tracekit(["breakdown", PICTURED], folder)


def write_picture() -> None:
    """Generate the run that is pictured, and write its page as PICTURE."""
    with workplace() as folder:
        generate = [sys.executable, str(ROOT / "sample_traces/generate.py"), str(folder)]
        subprocess.run([*generate, "--dialect", PICTURED], check=True)
        PICTURE.write_text(picture(pictured_page(folder / PICTURED)))


def picture(page: str) -> str:
    """An SVG that shows the page in a terminal window."""
    console = Console(width=WIDTH, record=True, file=io.StringIO())
    console.print(Text.from_ansi(page))
    title = f"tracekit breakdown {PICTURED}"
    svg = console.export_svg(title=title, unique_id="breakdown")
    # Rich names a font on a server; any monospaced one fits, as each text has its length.
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def views() -> list[schema.Relation]:
    """Public views in the order in which they build on one another."""
    with duckdb.connect() as con:
        schema.apply(con)
        queries.install(con)
        relations = {relation.name: relation for relation in schema.describe(con)}
    return [relations[name] for name in queries.VIEW_ORDER]


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """An empty folder in which sample_traces/ lies as it does in the repository."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "sample_traces").symlink_to(ROOT / "sample_traces")
        yield Path(name)


def tracekit(arguments: list[str], folder: Path) -> str:
    """Standard output of the command, run in the folder."""
    environment = {k: v for k, v in os.environ.items() if k != "TRACEKIT_DB"}
    done = subprocess.run(
        [sys.executable, "-m", "tracekit", *arguments],
        cwd=folder,
        env={**environment, "COLUMNS": str(WIDTH)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def fill(text: str, marker: str, body: str) -> str:
    """The text with `body` between `<!-- marker -->` and `<!-- end -->`."""
    pattern = rf"(<!-- {marker} -->\n).*?(<!-- end -->)"
    filled, n = re.subn(pattern, lambda found: found[1] + body + found[2], text, flags=re.DOTALL)
    if n != 1:
        raise ValueError(f"marker {marker!r} occurs {n} times")
    return filled


def _rerun(block: re.Match[str], folder: Path) -> str:
    lines = [line for line in block[2].splitlines() if line.startswith("$ ")]
    body = [f"{line}\n{_steady(tracekit(shlex.split(line)[2:], folder))}" for line in lines]
    return block[1] + "\n".join(body) + block[3]


def _steady(output: str) -> str:
    return re.sub(r"in [0-9.]+ s\b", "in ... s", output)


def _commands() -> Iterator[tuple[str, str]]:
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        yield f"tracekit {name}", command.get_short_help_str(limit=100)


def _views() -> Iterator[tuple[str, str]]:
    for view in views():
        yield view.name, view.comment.partition(" Grain: ")[0]


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, str]]) -> str:
    lines = [f"| `{first}` | {_cell(second)} |\n" for first, second in rows]
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n" + "".join(lines)


def _view_section(view: schema.Relation) -> str:
    rows = [f"| `{c.name}` | {c.type} | {_cell(c.comment)} |" for c in view.columns]
    head = [
        f"### {view.name}",
        "",
        view.comment,
        "",
        "| column | type | meaning |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _report_section(report: Query) -> str:
    rows = [f"- `{p.name}` {p.type}{_default(p)}: {p.meaning}" for p in report.params]
    return "\n".join(
        [f"### {report.name}", "", f"{report.title} Grain: {report.grain}", "", *rows, ""]
    )


def _default(param: Param) -> str:
    if param.is_required:
        return ""
    return f" = {'NULL' if param.default is None else repr(param.default)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _run_cell(source: str, namespace: dict[str, object], number: int) -> list[dict[str, object]]:
    """Outputs as Jupyter stores them: what was printed, then the value of the last expression."""
    module = ast.parse(source)
    last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(module, f"cell {number}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            value = eval(compile(expression, f"cell {number}", "eval"), namespace)
    outputs: list[dict[str, object]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        outputs.append(_result(value, number))
    return outputs


def _result(value: object, number: int) -> dict[str, object]:
    return {
        "data": {"text/plain": repr(value).splitlines(keepends=True)},
        "execution_count": number,
        "metadata": {},
        "output_type": "execute_result",
    }


DOCUMENTS: dict[Path, Callable[[str], str]] = {
    README: update_readme,
    DOCS / "sql.md": update_sql,
    DOCS / "notebook.ipynb": update_notebook,
}


if __name__ == "__main__":
    for path, update in DOCUMENTS.items():
        path.write_text(update(path.read_text()))
    write_picture()
