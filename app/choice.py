"""What is looked at: chosen once for all views, in the sidebar, and kept in the address.

The address decides: a link that is opened, or the browser's way back, brings a choice with it.
Where a page is reached without one, what was chosen last in this session stays.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from tracekit.app import data, parts
from tracekit.queries.header import Value

T = TypeVar("T")

REMEMBERED = "remembered"
CURRENT = "current"
"""Where the session keeps the choices by name, and the choice that holds."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A run, and what of it; None is the usual one, or all."""

    run: str
    other: str | None = None
    dp: int | None = None
    rank: int | None = None
    kind: str | None = None
    phase: str | None = None
    category: str | None = None
    step: int | None = None

    def params(self, report: str, **more: Value) -> dict[str, Value]:
        """What of the choice the report takes as parameters; `more` goes before it."""
        names = [param.name for param in data.query(report).params]
        chosen = {name: getattr(self, name) for name in names if name in self.__slots__}
        return {**chosen, **more}


def current() -> Choice:
    """The choice, as the sidebar shows it."""
    chosen: Choice = st.session_state[CURRENT]
    return chosen


def asked(name: str) -> str | None:
    """What the address says of a choice, else what was chosen last."""
    return st.query_params.get(name) or _remembered().get(name)


def keep(name: str, value: str | int | None) -> None:
    """Remember a choice, of the sidebar or of a view, and put it into the address.

    `current` has it from the next run of the page on: call this in a widget's callback.
    """
    if value is None:
        _remembered().pop(name, None)
        st.query_params.pop(name, None)
    else:
        _remembered()[name] = st.query_params[name] = str(value)


def known(name: str, label: str, read: Callable[[str], T | None]) -> T | None:
    """What is asked for, as `read` takes it; what that gives None for is left out, and told."""
    said = asked(name)
    value = None if said is None else read(said)
    if said is not None and value is None:
        keep(name, None)
        left_out(label, said)
    return value


def tab(name: str, labels: Sequence[str]) -> tuple[str, DeltaGenerator]:
    """Draw tabs; gives the label of the open one, and its place. Of the others nothing is asked."""
    key = f"tab_{name}"
    opened = known(name, "Tab", lambda said: said if said in labels else None) or labels[0]
    st.session_state[key] = opened
    places = st.tabs(labels, key=key, on_change=lambda: keep(name, st.session_state[key]))
    return opened, places[labels.index(opened)]


def left_out(label: str, said: str) -> None:
    """Say that what the address asks for is not taken."""
    st.warning(parts.escaped(f"{label} {said}: there is none here, so it is left out."))


def sidebar(runs: Sequence[SimpleNamespace]) -> None:
    """Draw the widgets of the choice; `runs` are the rows of `run_list`, at least one."""
    with st.sidebar:
        names = [row.run for row in runs]
        run = _select("run", "Run", names) or names[0]
        others = [name for name in names if name != run]
        if others:
            other = _select("other", "Compare with", others, "no other run")
        else:
            other = _known("other", "Compare with", [])
        engines = data.rows("engine_list", run=run)
        dps = [engine.dp for engine in engines]
        if len(dps) > 1:
            dp = _number(_select("dp", "Engine", dps, "all engines"))
        else:
            dp = _number(_known("dp", "Engine", map(str, dps)))
        there = [engine for engine in engines if dp in (None, engine.dp)]
        found = data.rows("choice_list", run=run)
        st.session_state[CURRENT] = Choice(
            run=run,
            other=other,
            dp=dp,
            rank=_number(_select("rank", "Rank", _all(there, "ranks"), "mean over ranks")),
            kind=_select("kind", "Kind of step", _values(found, "kind"), "the usual kind"),
            phase=_select("phase", "Phase", _values(found, "phase"), "all phases"),
            category=_select("category", "Category", _values(found, "category"), "all categories"),
            step=_number(_known("step", "Step", map(str, _all(there, "steps")))),
        )


def _remembered() -> dict[str, str]:
    found: dict[str, str] = st.session_state.setdefault(REMEMBERED, {})
    return found


def _select(name: str, label: str, there: Iterable[str | int], nothing: str = "") -> str | None:
    """What the widget says; `nothing` is what it shows where nothing is chosen."""
    options = [*([""] if nothing else []), *map(str, there)]
    key = f"choice_{name}"
    st.session_state[key] = _known(name, label, options) or options[0]
    picked = st.selectbox(
        label,
        options,
        key=key,
        format_func=lambda option: parts.visible(option) or nothing,
        on_change=lambda: keep(name, st.session_state[key] or None),
    )
    keep(name, picked or None)
    return picked or None


def _known(name: str, label: str, there: Iterable[str]) -> str | None:
    """What is asked for; None, with a message, where the run has no such thing."""
    options = set(there)
    return known(name, label, lambda said: said if said in options else None)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _all(engines: Iterable[SimpleNamespace], column: str) -> list[int]:
    return sorted({number for engine in engines for number in getattr(engine, column)})


def _values(found: Iterable[SimpleNamespace], choice: str) -> list[str]:
    return [row.value for row in found if row.choice == choice]
