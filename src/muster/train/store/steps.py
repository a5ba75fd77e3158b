"""The folders of checkpoints, one for each step, in every place where checkpoints are kept."""

import re

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
