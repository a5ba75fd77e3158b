"""Amounts as Kubernetes writes them: `500m`, `64Gi`, `1e3`. Pure."""

import re
from fractions import Fraction

_QUANTITY = re.compile(r"(?P<number>[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)(?P<suffix>[numkKMGTPE]i?|)")
_SUFFIXES = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(1000),
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
    **{letter: Fraction(1000**power) for power, letter in enumerate("MGTPE", 2)},
}


def amount_of(text: str | int | float) -> Fraction:
    """The amount. Raises `ValueError`."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None or match["suffix"] not in _SUFFIXES:
        raise ValueError(f"{text!r} is not an amount")
    return Fraction(match["number"]) * _SUFFIXES[match["suffix"]]


def milli_of(text: str | int | float) -> int:
    """The amount in thousandths, rounded down."""
    return int(amount_of(text) * 1000)


def bytes_of(text: str | int | float) -> int:
    """The amount in bytes, rounded down."""
    return int(amount_of(text))
