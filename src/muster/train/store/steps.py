"""The folders of checkpoints, one for each step, in every place where checkpoints are kept."""

import re
from operator import index
from typing import Any

STEP_MOST = 10**12 - 1
"""The highest step: the names of folders have this many digits, so that they sort as steps do."""

_STEP = re.compile(r"step-(\d{12})")


def step_name(step: int) -> str:
    """The folder of a step."""
    return f"step-{step:012d}"


def step_of(name: str) -> int | None:
    """The step of a folder; None when it is no such folder."""
    found = _STEP.fullmatch(name)
    return int(found[1]) if found else None


def step_number(step: Any) -> int:
    """A training step as a plain number. It may be given as any whole number, such as one of numpy."""
    try:
        number = index(step)
    except TypeError:
        raise TypeError(f"a step is a whole number, not {step!r}") from None
    if not 0 <= number <= STEP_MOST:
        raise ValueError(f"the step {number} is not between 0 and {STEP_MOST}")
    return number
