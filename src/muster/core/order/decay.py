"""Exponential decay in integers: the same result on every machine and under every hash seed."""

from math import isqrt

STEPS = 64
"""A half-life is divided into this many steps. Between two steps the value is interpolated."""

ONE = 1 << 32


def _factors() -> tuple[int, ...]:
    """2^(-k/64) for k = 0..64 in units of 2^-32, from six square roots of one half."""
    root = ONE // 2
    for _ in range(6):
        root = isqrt(root * ONE)
    factors = [ONE]
    for _ in range(STEPS):
        factors.append(factors[-1] * root // ONE)
    return tuple(factors)


FACTORS = _factors()


def decayed(value: int, elapsed_ms: int, half_life_ms: int) -> int:
    """What is left of `value` after `elapsed_ms`."""
    halvings, rest_ms = divmod(elapsed_ms, half_life_ms)
    if halvings >= value.bit_length():
        return 0
    step, fraction_ms = divmod(rest_ms * STEPS, half_life_ms)
    upper, lower = FACTORS[step], FACTORS[step + 1]
    factor = upper - (upper - lower) * fraction_ms // half_life_ms
    return (value * factor // ONE) >> halvings
