"""Nodes, and numbers by node, as Slurm writes them. Pure."""

import re
from collections.abc import Sequence
from itertools import groupby

_NUMBERED = re.compile(r"(.*?)([0-9]+)")


def node_list(names: Sequence[str]) -> str:
    """Nodes as Slurm writes them: `n[1-3,7]`."""
    keyed = [_key(name) for name in names]
    parts = []
    for (prefix, width), group in groupby(keyed, key=lambda each: (each[0], each[2])):
        numbers = [each[1] for each in group]
        if width is None:
            parts += [prefix] * len(numbers)
        elif len(numbers) == 1:
            parts.append(f"{prefix}{numbers[0]:0{width}d}")
        else:
            parts.append(f"{prefix}[{_runs(numbers, width)}]")
    return ",".join(parts)


def _key(name: str) -> tuple[str, int, int | None]:
    """What stands before the last number, the number, and how wide it is written; None for a name without a number."""
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return name, 0, None
    return match[1], int(match[2]), len(match[2]) if match[2].startswith("0") else 0


def _runs(numbers: Sequence[int], width: int) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join("-".join(f"{each:0{width}d}" for each in dict.fromkeys((run[0], run[-1]))) for run in runs)


def repeated(counts: Sequence[int]) -> str:
    """Numbers by node as Slurm writes them: `2(x3),1`."""
    runs = [(count, len(list(group))) for count, group in groupby(counts)]
    return ",".join(str(count) if times == 1 else f"{count}(x{times})" for count, times in runs)
