"""Gates of a comparison: what the other run must hold, for a script to act on."""

import re
from dataclasses import asdict, dataclass
from types import SimpleNamespace

from tracekit.cli import page
from tracekit.errors import QueryError

_FORM = re.compile(r"\s*(\w+)\s*(<=|>=)\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*(%?)\s*")

_PER_UNIT = {"ms_per_token": 1e6, "step_ms": 1e6, "tokens_per_s": 1.0}
"""Metrics, and how much of the report's unit makes one of theirs."""

_OWN = {
    "ms_per_token": "other_ns_per_token",
    "step_ms": "other_step_p50_ns",
    "tokens_per_s": "other_tokens_per_s",
}
_CHANGE = {"ms_per_token": "ratio", "step_ms": "step_ratio", "tokens_per_s": "speedup"}
"""Columns of the report `compare_headline`: the other run's own figure, and its change."""


@dataclass(frozen=True, slots=True)
class Gate:
    """`metric` must be at most (`<=`) or at least (`>=`) `limit`.

    A relative limit is one plus the change from base to other: `+3%` is 1.03.
    """

    text: str
    metric: str
    is_upper: bool
    limit: float
    is_relative: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """A gate held against a comparison: `verdict` is holds, fails or cannot tell.

    `value`, its 95 % interval and `limit` are in the metric's unit, or ratios of other to base.
    What stalled steps decide (it is another verdict without them) nobody can tell.
    """

    gate: str
    value: float
    low: float | None
    high: float | None
    limit: float
    is_relative: bool
    verdict: str
    is_decided_by_stalls: bool

    def as_dict(self) -> dict[str, object]:
        """The members by name, for JSON."""
        return asdict(self)


def parse(text: str) -> Gate:
    """A gate from `ms_per_token<=+3%`, `tokens_per_s>=-2%`, `step_ms<=12.5`.

    Raises:
        ValueError: it is in no such form.
    """
    found = _FORM.fullmatch(text)
    if found is None or found[1] not in _PER_UNIT:
        metrics = ", ".join(_PER_UNIT)
        raise ValueError(
            f"{text!r}: no gate; write METRIC<=LIMIT or METRIC>=LIMIT, METRIC one of {metrics}, "
            "LIMIT a number or a change such as +3%"
        )
    metric, operator, number, percent = found.groups()
    limit = 1 + float(number) / 100 if percent else float(number)
    if limit <= 0:
        raise ValueError(f"{text!r}: nothing is below 0; write a change such as -5%, or a number")
    return Gate(text.strip(), metric, operator == "<=", limit, bool(percent))


def judge(gate: Gate, row: SimpleNamespace) -> Judgement:
    """Whether a gate holds, of a row of `compare_headline`.

    It holds where the whole 95 % interval keeps to the limit, and fails where the whole interval
    is beyond it, with stalled steps and without: a regression has to be proven, and so has its
    absence.

    Raises:
        QueryError: the runs do not tell what the gate is about.
    """
    name = (_CHANGE if gate.is_relative else _OWN)[gate.metric]
    value = getattr(row, name)
    if gate.metric != "step_ms" and row.basis != "token":
        raise QueryError(f"{gate.text}: how many tokens a step gives is not known; use step_ms")
    per_unit = 1.0 if gate.is_relative else _PER_UNIT[gate.metric]
    low, high = _interval(row, name, per_unit)
    verdict = _verdict(gate, low, high)
    has_stalls = gate.metric != "step_ms" and row.base_stalled + row.other_stalled > 0
    steady = _interval(row, f"steady_{name}", per_unit) if has_stalls else (low, high)
    is_decided = _verdict(gate, *steady) != verdict
    told = "cannot tell" if is_decided else verdict
    figures = (value / per_unit, low, high, gate.limit)
    return Judgement(gate.text, *figures, gate.is_relative, told, is_decided)


def words(each: Judgement) -> str:
    """`ms_per_token<=+3%: fails, +6.1 % (+5.0 % to +7.2 %)`."""
    form = page.change if each.is_relative else _number
    if each.low is None or each.high is None:
        return f"{each.gate}: {each.verdict}, {form(each.value)}"
    ends = f"{form(each.low)} to {form(each.high)}"
    why = "; stalled steps decide it" if each.is_decided_by_stalls else ""
    return f"{each.gate}: {each.verdict}, {form(each.value)} ({ends}){why}"


def _number(value: float) -> str:
    return f"{value:,.2f}"


def _interval(
    row: SimpleNamespace, name: str, per_unit: float
) -> tuple[float | None, float | None]:
    low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
    return _scaled(low, per_unit), _scaled(high, per_unit)


def _scaled(value: float | None, per_unit: float) -> float | None:
    return None if value is None else value / per_unit


def _verdict(gate: Gate, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "cannot tell"
    best, worst = (low, high) if gate.is_upper else (-high, -low)
    limit = gate.limit if gate.is_upper else -gate.limit
    if worst <= limit:
        return "holds"
    return "fails" if best > limit else "cannot tell"
