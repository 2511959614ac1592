"""What several pages say in the same words."""

from types import SimpleNamespace

from rich.cells import cell_len

from tracekit import units
from tracekit.cli import output, table

ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "torch": "PyTorch"}

CLOSING = {"rest": "rest of step", "wait_for_work": "wait for work"}
"""How `row_kind` reads where it is not the word itself."""

DTYPES = {
    "BFloat16": "bf16",
    "Half": "fp16",
    "Float": "fp32",
    "Double": "fp64",
    "Float8_e4m3fn": "fp8",
    "Float8_e5m2": "fp8",
    "Long": "int64",
    "Int": "int32",
    "Char": "int8",
    "Byte": "uint8",
}
"""Element types as people write them, by torch's name."""

SOURCES = {
    "plugin": "plugin scopes",
    "engine": "engine scopes",
    "span": "step span",
    "kernels": "kernel signature",
    "graph": "CUDA graph",
    "none": "nothing",
}
"""How `phase_source` reads on a page."""


def title(run: SimpleNamespace, n_ranks: int, width: int) -> list[str]:
    """Which run a page is about: name, engine, model, ranks."""
    model = table.shorten(table.visible(run.model or ""), 44)
    is_told = not run.is_synthetic or "synthetic" in model
    parts = [
        table.visible(run.run),
        f"{table.visible(engine(run))}{' on CPU' if run.backend == 'cpu' else ''}",
        model if is_told else f"{model} (synthetic)",
        ranks(run, n_ranks),
    ]
    first, *more = table.flow([part.strip() for part in parts], width)
    return [output.strong(first), *more, *failure(run, width)]


def failure(run: SimpleNamespace, width: int) -> list[str]:
    """That a run's capture failed, and why; nothing where it did not."""
    if run.status != "failed":
        return []
    why = table.wrapped(f"capture failed: {table.visible(run.error or 'no reason given')}", width)
    return [output.warning(line) for line in why]


def engine(run: SimpleNamespace) -> str:
    """`vLLM 0.32.0`, as far as it is known."""
    name = ENGINES.get(run.engine, run.engine) if run.engine else ""
    return " ".join(filter(None, (name, run.engine_version)))


def ranks(run: SimpleNamespace, n_ranks: int) -> str:
    """`TP8 DP2, 16 of 16 ranks`, as far as it is known; `rank ?` of a trace that tells none."""
    sizes = [
        f"TP{run.tensor_parallel}" if run.tensor_parallel else "",
        f"DP{run.n_engines}" if run.n_engines > 1 else "",
    ]
    parallel = " ".join(filter(None, sizes)) + ", " if any(sizes) else ""
    of = f" of {run.world_size}" if run.world_size else ""
    if n_ranks == run.n_unknown_ranks == 1:
        return f"{parallel}rank ?{of}"
    return f"{parallel}{n_ranks}{of} {plural(run.world_size or n_ranks, 'rank')}"


def plural(count: int, noun: str) -> str:
    """The noun in the number that goes with `count`."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{count:,} {plural(count, noun)}"


def calls(number: float | None) -> str:
    """Activities per step: a mean that is mostly whole."""
    if number is None:
        return ""
    return f"{number:,.0f}" if number == round(number) or number >= 100 else f"{number:.1f}"


def spread(low_ns: float | None, high_ns: float | None) -> str:
    """`5.61-6.40` in ms; with fewer decimals where the numbers are large."""
    if low_ns is None or high_ns is None:
        return ""
    digits = 2 if high_ns < 100e6 else 1 if high_ns < 1000e6 else 0
    return f"{units.ms(low_ns, digits)}-{units.ms(high_ns, digits)}"


def per_cent(ratio: float | None) -> str:
    """`48.5 %`."""
    return f"{units.percent(ratio)} %"


def message(n_bytes: int | None, dtype: str | None) -> str:
    """`14 KiB bf16`, as far as it is known."""
    kind = DTYPES.get(dtype, dtype.lower()) if dtype else ""
    return f"{units.size(n_bytes)} {table.visible(kind)}".rstrip() if n_bytes else ""


def rank(dp: int, number: int | None, run: SimpleNamespace) -> str:
    """`5`, or `1.5` where there are several engines; `?` where no rank is told."""
    name = "?" if number is None else f"{number}"
    return f"{dp}.{name}" if run.n_engines > 1 else name


def change(ratio: float) -> str:
    """`+12.3 %`, of a ratio where 1 is no change."""
    return f"{'+' if ratio >= 1 else ''}{per_cent(ratio - 1)}"


def sources(names: str | None) -> str:
    """What decided the phases, in words."""
    if not names:
        return ""
    if names == "none":
        return "no phases in it"
    return "phases by " + ", ".join(SOURCES.get(name, name) for name in names.split(", "))


def next_commands(commands: list[tuple[str, str]]) -> list[str]:
    """Commands to go on with, and on the lines with room for it what each shows."""
    width = output.page_width()
    lengths = [cell_len(command) for command, _ in commands]
    # A long command would push the words of all others to the edge: its own follow it.
    column = max((length for length in lengths if length < 3 * width // 4), default=0)
    lines = []
    for (command, shows), length in zip(commands, lengths, strict=True):
        full = f"  {command}{' ' * (column - length)}  {shows}".rstrip()
        lines.append(full if cell_len(full) <= width else f"  {command}")
    return ["Next:", *lines]
