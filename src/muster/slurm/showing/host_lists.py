"""Lists of nodes and of task indices in brackets: `n[1-4,7],login`, both ways."""

import re
from collections.abc import Iterable, Iterator, Sequence

LISTED_MAX = 65_536
"""The most names that one list may stand for, as in Slurm. A longer one is a mistake."""

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_NUMBERED = re.compile(r"(.*?)(\d+)")


def expanded(text: str) -> list[str]:
    """All names that a list stands for, in its order. Raises `ValueError` when it cannot be read."""
    names = [name for part in _parts(text) for name in _expanded_part(part)]
    if len(names) > LISTED_MAX:
        raise ValueError(f"more than {LISTED_MAX} names")
    return names


def compressed(names: Iterable[str]) -> str:
    """The shortest list for these names: names with the same beginning share brackets."""
    groups: dict[tuple[str, int], list[int]] = {}
    for name in dict.fromkeys(names):
        match = _NUMBERED.fullmatch(name)
        width = len(match[2]) if match is not None and match[2].startswith("0") and len(match[2]) > 1 else 0
        key = (match[1], width) if match is not None else (name, -1)
        groups.setdefault(key, []).append(0 if match is None else int(match[2]))
    return ",".join(_group_text(prefix, width, numbers) for (prefix, width), numbers in groups.items())


def ranges(numbers: Sequence[int], width: int = 0) -> str:
    """Numbers as `1-3,5`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{low:0{width}}" if low == high else f"{low:0{width}}-{high:0{width}}" for low, high in runs)


def numbers_of(text: str) -> list[int]:
    """The numbers in `1-3,5`, also with a step: `0-6:2`. Raises `ValueError`."""
    found: list[int] = []
    for part in text.split(","):
        span, _, step = part.partition(":")
        low, _, high = span.partition("-")
        if int(high or low) - int(low) > LISTED_MAX:
            raise ValueError(f"more than {LISTED_MAX} numbers")
        found += range(int(low), int(high or low) + 1, int(step or 1))
    return found


def _group_text(prefix: str, width: int, numbers: Sequence[int]) -> str:
    if width < 0:
        return prefix
    text = ranges(numbers, width)
    return f"{prefix}{text}" if len(set(numbers)) == 1 else f"{prefix}[{text}]"


def _parts(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    if depth:
        raise ValueError(text)
    if text[start:]:
        yield text[start:]


def _expanded_part(text: str) -> list[str]:
    match = _BRACKETS.search(text)
    if match is None:
        return [text]
    before, rest = text[: match.start()], _expanded_part(text[match.end() :])
    inner = [number for part in match[1].split(",") for number in _counted(part)]
    return [f"{before}{each}{after}" for each in inner for after in rest]


def _counted(part: str) -> list[str]:
    low, _, high = part.partition("-")
    if not low.isdecimal() or (high and not high.isdecimal()):
        raise ValueError(part)
    return [f"{number:0{len(low)}}" for number in numbers_of(part)]
