"""Bars from the time of a token in one run to that in another."""

from types import SimpleNamespace

from rich.cells import cell_len

from tracekit import units
from tracekit.cli import output, table

FOLD = 0.005
"""Share of the base's time under which parts are folded."""

BAR = 26
"""Columns that the longest bar takes."""

HEADING = "from base to other, ms/step"
"""What the labels are headed: their arrows are times of a step."""

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
    """The report `compare_waterfall` as lines: ms of a step, ms of a token, where its bar lies."""
    unit = "token" if main.basis == "token" else "step"
    scale = max(row.to_ns for row in rows) / BAR
    labels = [_label(row, main, sides) for row in rows]
    room = width - BAR - 10
    column = min(max(map(cell_len, [HEADING, *labels])), room)
    found = [output.strong(f"{HEADING:{column}} {f'ms/{unit}':>8}")]
    for row, label in zip(rows, labels, strict=True):
        text = table.shorten(label, column)
        text += " " * (column - cell_len(text))
        line = f"{text} {_ms(row):>8} {_bar(row, scale)}".rstrip()
        found.append(output.strong(line) if row.row_kind in ("base", "other") else line)
        found += [output.faint(f"    {cause}") for cause in causes(row)]
    return found


def arrow(before: str, after: str) -> str:
    """`a -> b`, or `a` where nothing changes."""
    return before if before == after else f"{before} -> {after}"


def _label(row: SimpleNamespace, main: SimpleNamespace, sides: tuple[str, str]) -> str:
    if row.row_kind in ("base", "other"):
        return sides[row.row_kind == "other"]
    if row.row_kind == "tokens":
        return f"  one target pass: {tokens(main)}"
    return f"  {part(row)} {arrow(units.ms(row.base_step_ns), units.ms(row.other_step_ns))}"


def tokens(main: SimpleNamespace) -> str:
    """Tokens of a step before and after."""
    sides = (main.base_tokens_per_step, main.other_tokens_per_step)
    return f"{arrow(*(f'{number:.2f}' for number in sides))} tokens"


def part(row: SimpleNamespace) -> str:
    """What a row between the two ends is about: `verify: MoE GEMM`."""
    if row.row_kind != "part":
        closing: str = CLOSING[row.row_kind]
        return closing
    if row.n_folded:
        return f"{row.n_folded} more"
    word: str = row.category or row.phase
    name = PARTS.get(word, word)
    of_pass = f"{row.phase}: " if row.category else ""
    return f"{of_pass}{name}{f' {row.part}' if row.part else ''}"


def _ms(row: SimpleNamespace) -> str:
    is_change = row.row_kind not in ("base", "other")
    return units.ms_change(row.change_ns) if is_change else units.ms(row.change_ns)


def _bar(row: SimpleNamespace, scale: float) -> str:
    low, high = sorted((row.from_ns, row.to_ns))
    start: int = round(low / scale)
    filled: str = "#" * (round(high / scale) - start)
    return " " * start + (filled or "|")


def causes(row: SimpleNamespace) -> list[str]:
    """Why a part changed, as far as it is known: experts, messages, all-reduces of drafting."""
    found = []
    if row.experts is not None and row.base_experts is not None and row.other_experts is not None:
        touched = arrow(f"{row.base_experts:.0f}", f"{row.other_experts:.0f}")
        found.append(f"{touched} of {row.experts:,} experts touched, with even routing")
    if row.base_all_reduce_ns or row.other_all_reduce_ns:
        times = arrow(units.ms(row.base_all_reduce_ns or 0), units.ms(row.other_all_reduce_ns or 0))
        found.append(f"of it AllReduce {times}")
    if row.part != "waiting" and (row.base_impl or row.other_impl):
        found.append(table.visible(", ".join(filter(None, (_message(row), _impl(row))))))
    return found


def _message(row: SimpleNamespace) -> str:
    if row.base_bytes is None and row.other_bytes is None:
        return ""
    return f"message {arrow(units.size(row.base_bytes), units.size(row.other_bytes))}"


def _impl(row: SimpleNamespace) -> str:
    if row.base_impl == row.other_impl:
        return f"same implementation ({row.base_impl})"
    return f"implementation {arrow(row.base_impl or '-', row.other_impl or '-')}"
