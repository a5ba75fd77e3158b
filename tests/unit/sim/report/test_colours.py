"""The colours of policies can be told apart, also by readers who see fewer of them."""

import re
from importlib.resources import files
from itertools import combinations
from math import dist

import pytest

from muster.sim.report.figures.contender import DASHES, SLOTS, SYMBOLS

Matrix = tuple[tuple[float, float, float], ...]
Colour = tuple[float, float, float]

SIGHTS: dict[str, Matrix] = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""What is left of linear red, green and blue for such readers (Machado, Oliveira and Fernandes, 2009)."""
APART = 20
"""A distance in CIELAB that is plain to see; colours become hard to tell apart from about 10 downwards."""


def palettes() -> dict[str, list[str]]:
    """The colours of all policies by day and by night."""
    style = (files("muster.sim.report") / "page.css").read_text("utf-8")
    found = re.findall(r"--policy-\d: (#[0-9a-f]{6});", style)
    return {"day": found[: len(SLOTS)], "night": found[len(SLOTS) :]}


def seen(colour: str, sight: Matrix) -> Colour:
    """A colour in CIELAB as such a reader sees it."""
    plain = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in plain]
    red, green, blue = (min(max(sum(a * b for a, b in zip(row, linear, strict=True)), 0), 1) for row in sight)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116 for each in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("time", ["day", "night"])
def test_no_two_policies_look_alike(time: str, sight: str) -> None:
    colours = palettes()[time]
    assert len(colours) == len(SLOTS)
    pairs = combinations(colours, 2)
    near = [(a, b) for a, b in pairs if dist(seen(a, SIGHTS[sight]), seen(b, SIGHTS[sight])) < APART]
    assert near == []


def test_every_policy_has_a_mark_of_its_own_and_no_stroke_and_mark_twice() -> None:
    assert len(set(SYMBOLS)) == len(SLOTS)
    assert len(DASHES) == len(SLOTS)
