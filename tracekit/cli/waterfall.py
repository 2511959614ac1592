"""Bars from the time of a token in one run to that in another."""

from types import SimpleNamespace

from rich.cells import cell_len

from tracekit import units
from tracekit.cli import output, table

FOLD = 0.005
"""Share of the base's time under which parts are folded."""

BAR = 26
"""Columns that the longest bar takes."""

PARTS = {
    "gemm": "GEMM",
    "moe_gemm": "MoE GEMM",
    "all_reduce": "AllReduce",
    "sample": "sampling and rejection",
    "prepare": "input copies",
    "other": "other phases",
}
CLOSING = {"overlap": "overlap", "idle": "idle and host"}
"""How parts of a step read where it is not the word itself."""


def lines(
    rows: list[SimpleNamespace], main: SimpleNamespace, sides: tuple[str, str], width: int
) -> list[str]:
    """The report `compare_waterfall` as lines: what it is, ms of a token, where its bar lies."""
    unit = "token" if main.basis == "token" else "step"
    scale = max(row.to_ns for row in rows) / BAR
    labels = [_label(row, main, sides) for row in rows]
    room = width - BAR - 10
    column = min(max(map(cell_len, labels)), room)
    found = [output.strong(f"{'from base to other':{column}} {f'ms/{unit}':>8}")]
    for row, label in zip(rows, labels, strict=True):
        text = table.shorten(label, column)
        text += " " * (column - cell_len(text))
        line = f"{text} {_ms(row):>8} {_bar(row, scale)}".rstrip()
        found.append(output.strong(line) if row.row_kind in ("base", "other") else line)
        found += [output.faint(f"    {note}") for note in _notes(row)]
    return found


def arrow(before: str, after: str) -> str:
    """`a -> b`, or `a` where nothing changes."""
    return before if before == after else f"{before} -> {after}"


def _label(row: SimpleNamespace, main: SimpleNamespace, sides: tuple[str, str]) -> str:
    if row.row_kind in ("base", "other"):
        return sides[row.row_kind == "other"]
    if row.row_kind == "tokens":
        tokens = arrow(f"{main.base_tokens_per_step:.2f}", f"{main.other_tokens_per_step:.2f}")
        return f"  {tokens} tokens a step"
    return f"  {_part(row)} {arrow(units.ms(row.base_step_ns), units.ms(row.other_step_ns))}"


def _part(row: SimpleNamespace) -> str:
    if row.row_kind != "part":
        closing: str = CLOSING[row.row_kind]
        return closing
    if row.n_folded:
        return f"{row.n_folded} more"
    word: str = row.category or row.phase
    name = PARTS.get(word, word)
    target = "target " if row.phase == "target" else ""
    return f"{target}{name}{f' {row.part}' if row.part else ''}"


def _ms(row: SimpleNamespace) -> str:
    number = units.ms(row.change_ns)
    is_change = row.row_kind not in ("base", "other")
    return f"+{number}" if is_change and row.change_ns >= 0 else number


def _bar(row: SimpleNamespace, scale: float) -> str:
    low, high = sorted((row.from_ns, row.to_ns))
    start: int = round(low / scale)
    filled: str = "#" * (round(high / scale) - start)
    return " " * start + (filled or "|")


def _notes(row: SimpleNamespace) -> list[str]:
    """What became of a collective: its message, and who implements it."""
    if row.part == "waiting" or not (row.base_impl or row.other_impl):
        return []
    sizes = arrow(units.size(row.base_bytes), units.size(row.other_bytes))
    impls = arrow(row.base_impl or "-", row.other_impl or "-")
    return [table.visible(f"{sizes}, {impls}" if row.base_bytes or row.other_bytes else impls)]
