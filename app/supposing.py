"""What a prediction supposes in place of what was measured: sliders, kept in the address."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypeVar

import streamlit as st

from tracekit.app import choice
from tracekit.queries.header import Value

NS_PER_MS = 1e6

KS = range(1, 9)
RATES = tuple(percent / 100 for percent in range(5, 101, 5))
DRAFT_MS = (
    0.0,
    0.1,
    0.2,
    0.3,
    0.5,
    0.7,
    1.0,
    1.5,
    2.0,
    3.0,
    5.0,
    7.0,
    10.0,
    15.0,
    20.0,
    30.0,
    50.0,
)
"""Places of the sliders; what the address asks for is one more."""

Number = float | int | None
T = TypeVar("T", int, float)

LABELS = {
    "k": "Drafted tokens K",
    "acceptance": "Accepted at each position",
    "draft_ms": "Drafting of a step",
    "requests": "Requests of a step",
}


@dataclass(frozen=True, slots=True)
class Supposed:
    """Drafted tokens, acceptance, drafting of a step and requests; None is as it was measured."""

    k: int | None
    acceptance: float | None
    draft_ms: float | None
    requests: int | None

    def given(self) -> dict[str, Value]:
        """What of it the report `whatif_inputs` takes."""
        return {
            "acceptance": None if self.acceptance is None else repr(self.acceptance),
            "draft_ns": None if self.draft_ms is None else self.draft_ms * NS_PER_MS,
        }


def asked() -> Supposed:
    """What the address says; what cannot be is left out, with a message."""
    return Supposed(
        k=_asked("k", int, 1, KS[-1]),
        acceptance=_asked("acceptance", float, 0, 1),
        draft_ms=_asked("draft_ms", float, 0, 1e6),
        requests=_asked("requests", int, 1, 65_536),
    )


def _asked(name: str, read: Callable[[str], T], low: float, high: float) -> T | None:
    def number(said: str) -> T | None:
        try:
            found = read(said)
        except ValueError:
            return None
        return found if low <= found <= high else None

    return choice.known(name, LABELS[name], number)


def sliders(supposed: Supposed, rows: Sequence[SimpleNamespace], usual: str) -> tuple[int, int]:
    """Draw the sliders; gives requests of a step and K, as they stand.

    `rows` are those of the report `whatif`; `usual` is how acceptance and drafting are known.
    """
    loads = sorted({row.concurrency for row in rows})
    own = next(row.concurrency for row in rows if row.is_own)
    asked = supposed.requests
    if asked is not None and asked not in loads:
        choice.left_out(LABELS["requests"], str(asked))
        choice.keep("requests", None)
        asked = None
    requests: int = asked or own
    best: int = next(row.k for row in rows if row.is_best and row.concurrency == requests)
    k = supposed.k or best or KS[0]
    first, second, third, fourth, last = st.columns([3, 4, 4, 3, 2], vertical_alignment="bottom")
    with first:
        _slider("k", KS, k, str)
    with second:
        places = _places(RATES, supposed.acceptance)
        _slider("acceptance", places, supposed.acceptance, _rate(usual))
    with third:
        places = _places(DRAFT_MS, supposed.draft_ms)
        _slider("draft_ms", places, supposed.draft_ms, _ms(usual))
    with fourth:
        if len(loads) > 1:
            _slider("requests", loads, requests, str)
    last.button("Reset", key="suppose_nothing", on_click=_forget)
    return requests, k


def _places(usual: Sequence[float], value: float | None) -> list[Number]:
    """None, for what was measured, then the numbers in order."""
    return [None, *sorted({*usual, *([] if value is None else [value])})]


def _slider(
    name: str,
    places: Sequence[Number],
    value: Number,
    written: Callable[[Number], str],
) -> None:
    key = f"suppose_{name}"
    st.session_state[key] = value
    st.select_slider(
        LABELS[name],
        places,
        key=key,
        format_func=written,
        on_change=lambda: choice.keep(name, st.session_state[key]),
    )


def _rate(usual: str) -> Callable[[Number], str]:
    return lambda rate: usual if rate is None else f"{100 * rate:g} %"


def _ms(usual: str) -> Callable[[Number], str]:
    return lambda ms: usual if ms is None else f"{ms:g} ms"


def _forget() -> None:
    for name in Supposed.__slots__:
        choice.keep(name, None)
