"""Colours of categories: each has one, and everybody can tell them apart."""

from itertools import combinations
from math import dist

import pytest

from tracekit.colors import group_of, groups, phases
from tracekit.rules import builtin_document

SIGHTS = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "no green": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "no blue": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""Linear RGB as it is seen (Machado, Oliveira and Fernandes 2009, full severity)."""

PAPER = {"light": "#ffffff", "dark": "#14171b"}


def linear(color):
    values = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def seen(color, sight):
    rgb = linear(color)
    return [min(1, max(0, sum(a * b for a, b in zip(row, rgb, strict=True)))) for row in sight]


def lab(rgb):
    r, g, b = rgb
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def contrast(first, second):
    weights = (0.2126, 0.7152, 0.0722)
    lights = [sum(a * b for a, b in zip(weights, linear(c), strict=True)) for c in (first, second)]
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_every_category_has_one_colour():
    listed = [category for group in groups() for category in group.categories]
    assert sorted(listed) == sorted([*builtin_document()["categories"], "unknown"])
    assert group_of("moe_gemm").name == "MoE GEMM"


@pytest.mark.parametrize("mode", PAPER)
def test_colours_stand_out_from_their_background(mode):
    shown = [*groups(), *phases()]
    found = {one.name: contrast(getattr(one, mode), PAPER[mode]) for one in shown}
    assert {name: ratio for name, ratio in found.items() if ratio < 3} == {}


def test_every_phase_has_a_colour_and_a_verify_that_of_a_forward():
    colors = {phase.name: (phase.light, phase.dark) for phase in phases()}
    assert list(colors) == ["prepare", "forward", "verify", "sample", "draft", "other"]
    assert colors["verify"] == colors["forward"]


@pytest.mark.parametrize("mode", PAPER)
@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize(
    "legend",
    [groups(), [phase for phase in phases() if phase.name != "verify"]],
    ids=["categories", "phases"],
)
def test_colours_differ_to_everybody(mode, sight, legend):
    labs = {one.name: lab(seen(getattr(one, mode), SIGHTS[sight])) for one in legend}
    close = [pair for pair in combinations(labs, 2) if dist(labs[pair[0]], labs[pair[1]]) < 10]
    assert close == []
