"""Colours of kernel categories, the same wherever a chart shows them."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Group:
    """Categories that share a colour: `light` on a white background, `dark` on a black one."""

    name: str
    light: str
    dark: str
    categories: tuple[str, ...]


@cache
def groups() -> tuple[Group, ...]:
    """All groups, in the order of a legend; every category is in one of them."""
    document = tomllib.loads(files("tracekit").joinpath("colors.toml").read_text("utf-8"))
    return tuple(
        Group(**{**row, "categories": tuple(row["categories"])}) for row in document["group"]
    )


@cache
def group_of(category: str) -> Group:
    """The group a category is in."""
    return next(group for group in groups() if category in group.categories)
