"""Colours of kernel categories and of phases, the same wherever a chart shows them."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """Categories that share a colour: `light` on a white background, `dark` on a black one."""

    name: str
    light: str
    dark: str
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a step with its colour: `light` on a white background, `dark` on a black one."""

    name: str
    light: str
    dark: str


@cache
def groups() -> tuple[Group, ...]:
    """All groups, in the order of a legend; every category is in one of them."""
    return tuple(
        Group(**{**row, "categories": tuple(row["categories"])}) for row in _document()["group"]
    )


@cache
def phases() -> tuple[Phase, ...]:
    """All phases, in the order of a step."""
    return tuple(Phase(**row) for row in _document()["phase"])


@cache
def group_of(category: str) -> Group:
    """The group a category is in."""
    return next(group for group in groups() if category in group.categories)


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files("tracekit").joinpath("colors.toml").read_text("utf-8"))
