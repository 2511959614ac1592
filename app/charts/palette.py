"""One colour for each kernel category, the same in all charts and in reports."""

from collections.abc import Iterable

import altair as alt

from tracekit import colors


def groups(is_dark: bool) -> alt.Scale:
    """Colours of groups of categories, by the group's name, in the order of a legend."""
    return alt.Scale(
        domain=[group.name for group in colors.groups()],
        range=[group.dark if is_dark else group.light for group in colors.groups()],
    )


def categories(is_dark: bool) -> alt.Scale:
    """Colours of single categories: those of one group share theirs."""
    pairs = [(name, group) for group in colors.groups() for name in group.categories]
    return alt.Scale(
        domain=[name for name, _ in pairs],
        range=[group.dark if is_dark else group.light for _, group in pairs],
    )


def phases(is_dark: bool) -> alt.Scale:
    """Colours of the phases of a step, for charts that show these in place of categories."""
    return alt.Scale(
        domain=[phase.name for phase in colors.phases()],
        range=[phase.dark if is_dark else phase.light for phase in colors.phases()],
    )


def present(scale: alt.Scale, names: Iterable[str]) -> alt.Scale:
    """The scale with the names that a chart has alone, so that its legend lists no others."""
    there = set(names)
    pairs = [pair for pair in zip(scale.domain, scale.range, strict=True) if pair[0] in there]
    return alt.Scale(domain=[name for name, _ in pairs], range=[color for _, color in pairs])


def ink(is_dark: bool) -> str:
    """Colour of words and signs that stand for no category."""
    return "#e6e9ed" if is_dark else "#31363d"
