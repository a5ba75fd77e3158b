"""The `#SBATCH` lines of a batch script -> its options, each with its line.

Options may be written `--nodes=2`, `--nodes 2`, `-N 2` or `-N2`, several to a line. As in Slurm, lines after the first
command are ignored.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from muster.formats.text.units import BadValue

MARK = "#SBATCH"

SHORT = {
    "A": "account",
    "a": "array",
    "b": "begin",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "G": "gpus",
    "H": "hold",
    "i": "input",
    "J": "job-name",
    "L": "licenses",
    "M": "clusters",
    "N": "nodes",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "S": "core-spec",
    "t": "time",
    "W": "wait",
    "w": "nodelist",
    "x": "exclude",
}
FLAGS = frozenset(
    {"contiguous", "exclusive", "hold", "no-kill", "no-requeue", "overcommit", "oversubscribe", "parsable", "quiet"}
    | {"reboot", "requeue", "spread-job", "test-only", "use-min-nodes", "verbose", "wait"}
)
"""Options that take no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option as it was written, under its long name."""

    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchScript:
    """A batch script taken apart."""

    interpreter: str
    """What its first line says after `#!`. Empty when there is no such line."""
    options: tuple[Option, ...]
    body: str
    """Everything from the first command on."""
    body_line: int


class BadOption(BadValue):
    """An option that cannot be read, and on which line."""

    def __init__(self, line: int, name: str, problem: str, hint: str = "") -> None:
        super().__init__(problem, hint)
        self.line = line
        self.name = name


def take_apart(text: str) -> BatchScript:
    """The interpreter, the options and the commands of a script."""
    lines = text.splitlines()
    interpreter = lines[0].removeprefix("#!").strip() if lines and lines[0].startswith("#!") else ""
    first = next(
        (at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), len(lines)
    )
    options = [
        option
        for number, line in enumerate(lines[:first], start=1)
        if line.startswith(MARK) and (len(line) == len(MARK) or line[len(MARK)].isspace())
        for option in _options(line.removeprefix(MARK), number)
    ]
    return BatchScript(
        interpreter=interpreter, options=tuple(options), body="\n".join(lines[first:]), body_line=first + 1
    )


def _options(text: str, line: int) -> Iterator[Option]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError as error:
        raise BadOption(line, "", f"cannot be read: {str(error).lower()}", "are the quotes closed?") from None
    at = 0
    while at < len(words):
        name, value, inline = _taken(words[at], line)
        at += 1
        if not inline and name not in FLAGS and at < len(words) and not words[at].startswith("-"):
            value = words[at]
            at += 1
        yield Option(name=name, value=value, line=line)


def _taken(word: str, line: int) -> tuple[str, str, bool]:
    """The name in a word, the value in it, and whether it has a value."""
    if word.startswith("--") and len(word) > 2:
        name, equals, value = word[2:].partition("=")
        return name, value, bool(equals)
    if word.startswith("-") and len(word) > 1:
        name = SHORT.get(word[1], word[1])
        value = word[2:].removeprefix("=")
        return name, value, bool(value)
    raise BadOption(line, "", f"{word!r} is not an option", "options begin with - or --")
