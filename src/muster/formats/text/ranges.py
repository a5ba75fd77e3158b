"""Several things in one word: `8..16` workers, an array `0-99%8`, the nodes `n[01-16]`.

A range is measured before it is expanded, so a typing error never allocates more than the named limits allow.
"""

import math
import re
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise, product

from muster.formats.text.units import BadValue, shown
from muster.model.limits import ARRAY_TASKS, GANG_WORKERS, NODES_PER_CLUSTER
from muster.model.spec import ArraySpec

_WORKERS = re.compile(r"([0-9]{1,9})(?:\.\.([0-9]{1,9}))?")
_ARRAY = re.compile(r"([0-9,:-]+)(?:%([0-9]{1,9}))?")
_SPAN = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_NAME = re.compile(r"[^\s\[\],/]{1,253}")


def worker_range(value: object) -> tuple[int, int]:
    """Smallest and largest number of workers: `16`, or `"8..16"` for an elastic role."""
    if isinstance(value, int) and not isinstance(value, bool):
        lowest = highest = value
    else:
        match = _WORKERS.fullmatch("".join(value.split())) if isinstance(value, str) else None
        if match is None:
            raise BadValue(f'must be a number of workers such as 16, or a range such as "8..16", not {shown(value)}')
        lowest = int(match[1])
        highest = int(match[2] or match[1])
    if lowest < 1:
        raise BadValue(f"{shown(value)}: a job has at least one worker")
    if highest < lowest:
        raise BadValue(f"{shown(value)} ends before it begins", f'did you mean "{highest}..{lowest}"?')
    if highest > GANG_WORKERS:
        raise BadValue(f"{shown(value)} is too many workers", f"at most {GANG_WORKERS}")
    return lowest, highest


def worker_range_value(lowest: int, highest: int) -> int | str:
    """The inverse of `worker_range`."""
    return lowest if lowest == highest else f"{lowest}..{highest}"


def array_spec(value: object) -> ArraySpec:
    """`0-99%8`, `1,3,5-7` or `0-90:10`: the indices in ascending order and how many may run at once."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    match = _ARRAY.fullmatch("".join(text.split())) if isinstance(text, str) else None
    if match is None:
        raise BadValue(f'must be an array such as "0-99%8" or "1,3,5-7", not {shown(value)}')
    spans = [_span(part, whole=value) for part in match[1].split(",")]
    if sum(map(len, spans)) > ARRAY_TASKS:
        raise BadValue(f"{shown(value)} has too many tasks", f"at most {ARRAY_TASKS} in one array")
    indices = sorted(index for span in spans for index in span)
    twice = next((left for left, right in pairwise(indices) if left == right), None)
    if twice is not None:
        raise BadValue(f"{shown(value)} names index {twice} twice")
    if match[2] is not None and int(match[2]) < 1:
        raise BadValue(f"{shown(value)} lets no task run", "the number after % is how many may run at once")
    return ArraySpec(indices=tuple(indices), concurrency=None if match[2] is None else int(match[2]))


def array_text(array: ArraySpec) -> str:
    """The inverse of `array_spec`, with runs of neighbours written as ranges."""
    return _runs(array.indices) + (f"%{array.concurrency}" if array.concurrency is not None else "")


def node_names(value: object) -> tuple[str, ...]:
    """`n7` is one node; `n[1-16]`, `n[01-16]`, `n[1-4,8]` and `r[1-2]n[1-8]` are several, in order."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise BadValue(f'must be a name such as n1 or a range such as "n[1-16]", not {shown(value)}')
    pieces = _BRACKETS.split(text)
    choices = [_bracket(piece, whole=text) if place % 2 else (piece,) for place, piece in enumerate(pieces)]
    if math.prod(map(len, choices)) > NODES_PER_CLUSTER:
        raise BadValue(f"{shown(text)} is too many nodes", f"at most {NODES_PER_CLUSTER} in a cluster")
    names = tuple("".join(parts) for parts in product(*choices))
    wrong = next((name for name in names if not is_name(name)), None)
    if wrong is not None:
        raise BadValue(f"{shown(wrong)} is not a name for a node", 'letters, digits, - and .; a range is "n[1-16]"')
    return names


def comma_separated(value: object) -> list[object]:
    """`n1,n[3,5]` is two words. A comma in brackets separates nothing."""
    return list(re.split(r",(?![^\[]*\])", value)) if isinstance(value, str) else [value]


def node_ranges(names: Iterable[str]) -> str:
    """Many node names in few words: `n[1-3], gpu-07`."""
    parts: list[str] = []
    for prefix, group in groupby(dict.fromkeys(names), key=lambda name: name.rstrip("0123456789")):
        numbers = [name.removeprefix(prefix) for name in group]
        # If a number has a leading zero or is missing, the names stay as they are: padding is not guessed.
        if len(numbers) == 1 or any(not number or number != str(int(number)) for number in numbers):
            parts.extend(f"{prefix}{number}" for number in numbers)
        else:
            parts.append(f"{prefix}[{_runs(sorted(map(int, numbers)))}]")
    return ", ".join(parts)


def is_name(text: str) -> bool:
    """True for a name of a node, domain, pool, tier or GPU type: printable, no blanks, commas, slashes or brackets."""
    return text.isprintable() and _NAME.fullmatch(text) is not None


def is_team_name(text: str) -> bool:
    """True for a name of a team: it begins with a letter, a digit or `_`. Other signs are Muster's own, such as `*`."""
    return is_name(text) and (text[0].isalnum() or text[0] == "_")


def _runs(numbers: Iterable[int]) -> str:
    """Ascending numbers with neighbours joined: `1,3,5-7`."""
    parts = []
    for _, neighbours in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in neighbours]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(parts)


def _span(part: str, *, whole: object) -> range:
    match = _SPAN.fullmatch(part)
    if match is None:
        raise BadValue(f"{shown(part)} in {shown(whole)} is not an index or a range", "such as 7 or 0-99")
    first = int(match[1])
    last = int(match[2] or match[1])
    if last < first:
        raise BadValue(f"{shown(part)} in {shown(whole)} ends before it begins")
    if match[3] is not None and int(match[3]) < 1:
        raise BadValue(f"{shown(part)} in {shown(whole)} has a step of zero")
    return range(first, last + 1, int(match[3] or 1))


def _bracket(inside: str, *, whole: str) -> tuple[str, ...]:
    """The texts that one pair of brackets stands for. A leading zero in the first number of a range sets its width."""
    parts = inside.replace(" ", "").split(",")
    spans = [_span(part, whole=whole) for part in parts]
    if sum(map(len, spans)) > NODES_PER_CLUSTER:
        raise BadValue(f"{shown(whole)} is too many nodes", f"at most {NODES_PER_CLUSTER} in a cluster")
    return tuple(text for part, span in zip(parts, spans, strict=True) for text in _padded(part, span))


def _padded(part: str, span: range) -> Iterator[str]:
    first = part.partition("-")[0]
    width = len(first) if first.startswith("0") else 0
    return (str(index).zfill(width) for index in span)
