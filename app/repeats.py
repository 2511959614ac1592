"""Repeats of the runs that are compared: more runs of the same setting, kept in the address."""

from collections.abc import Iterable, Sequence
from urllib.parse import unquote

import streamlit as st

from tracekit.app import choice, parts

NAMES = ("base_repeats", "other_repeats")
"""What the address calls them."""

BETWEEN = ","
"""What stands between names in an address; in a name it is %2C, and % is %25."""


def chosen(sides: tuple[str, str], runs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Runs of both sides, as the widgets say that it draws; `runs` are all there are."""
    there = [run for run in runs if run not in sides]
    if not there and not any(map(choice.asked, NAMES)):
        return [sides[0]], [sides[1]]
    with st.expander("Repeats", expanded=any(map(choice.asked, NAMES))):
        left, right = st.columns(2)
    with left:
        bases = _repeats(NAMES[0], "Repeats of the base", there, ())
    with right:
        others = _repeats(NAMES[1], "Repeats of the other", there, bases)
    return [sides[0], *bases], [sides[1], *others]


def _repeats(name: str, label: str, there: Sequence[str], taken: Sequence[str]) -> list[str]:
    free = [run for run in there if run not in taken]
    asked = [unquote(part) for part in (choice.asked(name) or "").split(BETWEEN) if part]
    st.session_state[name] = [run for run in free if run in asked]
    for run in sorted({*asked} - {*free}):
        choice.left_out(label, run)
        choice.keep(name, _joined(st.session_state[name]))
    return st.multiselect(
        label,
        free,
        key=name,
        format_func=parts.visible,
        placeholder="none: add runs of the same setting",
        on_change=lambda: choice.keep(name, _joined(st.session_state[name])),
    )


def _joined(names: Iterable[str]) -> str | None:
    """The names as the address has them; None where there is none."""
    written = (name.replace("%", "%25").replace(BETWEEN, "%2C") for name in names)
    return BETWEEN.join(written) or None
