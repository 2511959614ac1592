"""The page of tracekit compare: figures side by side, why they differ, and what else differs."""

from types import SimpleNamespace
from typing import TYPE_CHECKING

from tracekit import units
from tracekit.cli import certainty, gate, names, output, page, table, waterfall
from tracekit.cli.gate import Judgement

if TYPE_CHECKING:
    from tracekit.database import Database

TOP = 8
"""Kernels shown."""

Steps = dict[str, str | int | float | list[str] | None]
"""Parameters of the reports: runs of both sides, and which of their steps."""


def parameters(name: str, steps: Steps) -> Steps:
    """Those of `steps` that the report takes."""
    from tracekit import queries

    taken = {param.name for param in queries.load(name).params}
    return {key: value for key, value in steps.items() if key in taken}


def page_of(
    database: "Database",
    steps: Steps,
    rows: list[SimpleNamespace],
    context: list[SimpleNamespace],
    judged: list[Judgement],
    db: str | None,
) -> list[str]:
    """Lines of the page; `rows` is the report `compare_headline`, `context` `compare_context`."""
    (main,) = (row for row in rows if row.is_main)
    width = output.page_width()
    sides = (side(steps["base"], "base"), side(steps["other"], "other"))
    chosen: Steps = {**steps, "batch": main.batch}
    bars = database.report("compare_waterfall", **chosen, fold=waterfall.FOLD).records()
    kernels = database.report("compare_kernels", **chosen, top=TOP).records()
    return [
        *_figures(main, sides, width),
        *_verdict(main, sides, width),
        *_batches(rows, width),
        "",
        *waterfall.lines(bars, main, sides, width),
        *_kernels(kernels, _known(database, steps), width),
        "",
        *_context(context, width),
        *(_colored(each) for each in judged),
        *page.next_commands(_next(main, steps, db)),
    ]


def difference(row: SimpleNamespace) -> str:
    """A fact that differs, as `GPU A100 and H100`."""
    return table.visible(f"{row.fact} {row.base or '?'} -> {row.other or '?'}")


def _colored(each: Judgement) -> str:
    line = f"gate {gate.words(each)}"
    return line if each.verdict == "holds" else output.warning(line)


def side(runs: object, word: str) -> str:
    """Name of a side: of its run, or the number of its runs."""
    several = runs if isinstance(runs, list) else [runs]
    name = f"{several[0]}" if len(several) == 1 else f"{word} ({len(several)} runs)"
    return table.visible(name)


def _figures(main: SimpleNamespace, sides: tuple[str, str], width: int) -> list[str]:
    rows = [
        ("steps", f"{main.base_steps:,}", f"{main.other_steps:,}", "", ""),
        ("step, median ms", units.ms(main.base_step_p50_ns), units.ms(main.other_step_p50_ns))
        + _ratio(main, "step_ratio"),
        *(_token_rows(main) if main.basis == "token" else []),
    ]
    columns = [
        table.label(_load(main)),
        *(table.Column(side, is_flexible=True, minimum=8) for side in sides),
        table.Column("ratio"),
        table.Column("95 %"),
    ]
    heading, *lines = table.lines(columns, rows, width)
    return [output.strong(heading), *lines]


def _token_rows(main: SimpleNamespace) -> list[tuple[str, ...]]:
    each = "" if main.batch == 1 else " each"
    return [
        ("tokens/step", _tokens(main, "base"), _tokens(main, "other"), "", ""),
        ("ms/token", units.ms(main.base_ns_per_token), units.ms(main.other_ns_per_token))
        + _ratio(main, "ratio"),
        (f"tok/s{each}", _rate(main.base_tokens_per_s), _rate(main.other_tokens_per_s))
        + _ratio(main, "speedup"),
    ]


def _load(main: SimpleNamespace) -> str:
    return (
        main.kind if main.batch is None else f"{main.kind}, {page.counted(main.batch, 'request')}"
    )


def _tokens(main: SimpleNamespace, side: str) -> str:
    return f"{getattr(main, f'{side}_tokens_per_step'):.2f}"


def _rate(tokens_per_s: float) -> str:
    return f"{tokens_per_s:,.1f}"


def _ratio(main: SimpleNamespace, name: str) -> tuple[str, str]:
    low, high = getattr(main, f"{name}_low"), getattr(main, f"{name}_high")
    interval = "" if low is None else f"{_times(low)} - {_times(high)}"
    return _times(getattr(main, name)), interval


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 1.995 else f"{ratio:.3f}"


def sentences(main: SimpleNamespace, sides: tuple[str, str]) -> list[str]:
    """Which side is faster and how certain that is; `main` is of the report `compare_headline`."""
    told = (
        _sentence(main, sides),
        certainty.stalled(main, sides),
        _speed(main),
        _samples(main),
        _chance(main),
        _break_even(main),
    )
    return [words for words in told if words]


def _verdict(main: SimpleNamespace, sides: tuple[str, str], width: int) -> list[str]:
    first, *more = [table.wrapped(words, width) for words in sentences(main, sides)]
    return [*map(output.strong, first), *(line for lines in more for line in lines)]


def _sentence(main: SimpleNamespace, sides: tuple[str, str]) -> str:
    what = "emitted token" if main.basis == "token" else "step"
    if main.verdict == "faster":
        return f"{sides[1]} is {_times(main.speedup)}x faster per {what}."
    if main.verdict == "slower":
        return f"{sides[1]} is {_times(main.ratio)}x slower per {what}."
    if why := certainty.why_not(main):
        return f"Cannot tell which is faster: {why}."
    if main.ratio_low is None:
        return "Cannot tell which is faster: fewer than 8 steps on a side."
    if main.base_more is None:
        return "Cannot tell which is faster: they hardly differ, if at all."
    more = f"{main.base_more:,} and {main.other_more:,} more {main.unit}s"
    return f"Cannot tell which is faster: {more} would tell, if they differ as it seems now."


def _speed(main: SimpleNamespace) -> str:
    if not main.is_unprofiled:
        return ""
    return "Times are those without the profiler: traced steps, scaled to the window that had none."


def _samples(main: SimpleNamespace) -> str:
    is_same = main.base_runs == main.other_runs
    other_runs = page.counted(main.other_runs, "run")
    runs = f"{other_runs} each" if is_same else f"{main.base_runs} and {other_runs}"
    if main.unit == "run":
        return f"{runs}; a run is one sample."
    blocks = f", drawn in blocks of {main.base_block} and {main.other_block}"
    drawn = "" if main.ratio_low is None else blocks
    return (
        f"{runs}; a step is one sample{drawn}. What differs from run to run takes repeats on both "
        "sides."
    )


COUNTED = {
    "counters": "the server counted around the window",
    "log": "the server's log tells, rounded",
}
"""Sources of tokens that do not tell those of each step."""


def _counted(main: SimpleNamespace) -> list[str]:
    told = {main.base_token_source, main.other_token_source}
    return [words for source, words in COUNTED.items() if source in told]


def _chance(main: SimpleNamespace) -> str:
    counted = _counted(main)
    if not counted or main.ratio_low is None:
        return ""
    return (
        f"Tokens are those that {' and that '.join(counted)}: intervals hold what chance does to "
        "step times and to acceptance."
    )


def _break_even(main: SimpleNamespace) -> str:
    if main.break_even_tokens_per_step is None or not _counted(main):
        return ""
    here = f"{main.other_tokens_per_step:.2f}"
    return f"It pays above {main.break_even_tokens_per_step:.2f} tokens/step (here {here})."


def _batches(rows: list[SimpleNamespace], width: int) -> list[str]:
    """The other batch sizes, where there are some."""
    if len(rows) < 2:
        return []
    spec = [
        (table.Column("requests"), lambda row: f"{row.batch}"),
        (table.Column("steps"), lambda row: f"{row.base_steps:,}, {row.other_steps:,}"),
        (table.Column("ratio"), lambda row: _times(row.ratio)),
        (table.Column("95 %"), lambda row: _ratio(row, "ratio")[1]),
        (table.label("verdict"), lambda row: row.verdict),
    ]
    heading, *lines = table.of(rows, spec, width)
    return ["", output.strong(heading), *lines]


def _known(database: "Database", steps: Steps) -> dict[str, SimpleNamespace]:
    """What is known of each kernel, by name."""
    runs = [
        run for side in (steps["base"], steps["other"]) if isinstance(side, list) for run in side
    ]
    return {row.name: row for run in runs for row in database.report("kernels", run=run).records()}


def _kernels(
    rows: list[SimpleNamespace], known: dict[str, SimpleNamespace], width: int
) -> list[str]:
    if not rows:
        return []
    spec = [
        (table.label("kernels"), lambda row: row.change or ""),
        (table.label("phase"), lambda row: row.phase or ""),
        (table.name("us/step"), lambda row: _kernel(row, known)),
        (table.Column("base"), lambda row: _us(row.base_step_ns)),
        (table.Column("other"), lambda row: _us(row.other_step_ns)),
        (table.Column("calls"), lambda row: _calls(row)),
    ]
    heading, *lines = table.of(rows, spec, width)
    return ["", output.strong(heading), *lines]


def _us(ns: float | None) -> str:
    return units.us(ns, 0)


def _kernel(row: SimpleNamespace, known: dict[str, SimpleNamespace]) -> str:
    if row.n_folded:
        return f"{row.n_folded} more"
    message = waterfall.arrow(units.size(row.base_bytes), units.size(row.other_bytes))
    size = f"{message} " if row.base_bytes or row.other_bytes else ""
    return f"{size}{names.of_kernel(row.name, known.get(row.name))}"


def _calls(row: SimpleNamespace) -> str:
    if row.n_folded:
        return ""
    return waterfall.arrow(page.calls(row.base_calls) or "-", page.calls(row.other_calls) or "-")


def _context(rows: list[SimpleNamespace], width: int) -> list[str]:
    told = {
        "same": [row.fact for row in rows if row.verdict == "same"],
        "unknown": [row.fact for row in rows if row.verdict == "unknown"],
        "differs": [difference(row) for row in rows if _differs(row, is_noted=True)],
    }
    lines = [
        line
        for word, facts in told.items()
        for line in table.wrapped(f"{word}: {', '.join(facts)}", width)
        if facts
    ]
    mixed = [row.fact for row in rows if row.is_mixed]
    warned = f"runs of one side differ, so they are no repeats: {', '.join(mixed)}"
    lines += [output.warning(line) for line in table.wrapped(warned, width) if mixed]
    doubts = [difference(row) for row in rows if _differs(row, is_noted=False)]
    text = f"differs, and may be the reason: {', '.join(doubts)}"
    return [*lines, *(output.warning(line) for line in table.wrapped(text, width) if doubts)]


def _differs(row: SimpleNamespace, *, is_noted: bool) -> bool:
    return row.verdict == "differs" and (row.effect == "noted") is is_noted


def _next(main: SimpleNamespace, steps: Steps, db: str | None) -> list[tuple[str, str]]:
    runs = [side[0] for side in (steps["base"], steps["other"]) if isinstance(side, list)]
    return [(output.to_paste(db, "breakdown", run), "its steps in full") for run in runs]
