"""What Slurm prints, taken apart: `Name=value` lines of scontrol, and lists of hosts.

These forms are the same in every release since 20.11, which its JSON is not.
"""

import re
from collections.abc import Iterator

_FIELD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:]*)=")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")

HOSTS_MOST = 100_000
"""More nodes than a cluster has."""


def fields_of(line: str) -> dict[str, str]:
    """The fields of one line. A value may have spaces; it ends where the next name begins."""
    marks = list(_FIELD.finditer(line))
    ends = [mark.start() for mark in marks[1:]] + [len(line)]
    return {mark[1]: line[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)}


def hosts_of(text: str) -> tuple[str, ...]:
    """The hosts in `n[1-3,7],gpu01`."""
    found: list[str] = []
    for part in _parts(text):
        found.extend(_expanded(part))
        if len(found) > HOSTS_MOST:
            raise ValueError(f"{text[:100]!r} names more than {HOSTS_MOST} hosts")
    return tuple(found)


def _parts(text: str) -> Iterator[str]:
    """The parts between commas that are outside of brackets."""
    depth, begin = 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
    if text[begin:] not in ("", "(null)", "None assigned"):
        yield text[begin:]


def _expanded(part: str) -> Iterator[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        yield part
        return
    inside, _, after = rest.partition("]")
    for each in inside.split(","):
        match = _RANGE.fullmatch(each)
        if match is None:
            raise ValueError(f"{part!r} is not a list of hosts")
        first, last = match[1], match[2] or match[1]
        for number in range(int(first), min(int(last), int(first) + HOSTS_MOST) + 1):
            for tail in _expanded(after):
                yield f"{before}{number:0{len(first)}}{tail}"
