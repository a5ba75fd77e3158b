"""The options of `sbatch`, `srun` and `salloc`, on their command lines and on the `#SBATCH` lines of a script.

Options may be written `--nodes=2`, `--nodes 2`, `-N 2` or `-N2`, several to a line, and shortened as long as only one
option begins that way. As in Slurm, lines after the first command of a script are ignored, and an unknown option is an
error.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.formats.text.units import BadValue

MARK = "#SBATCH"

_SHORT = {
    "A": "account",
    "b": "begin",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "h": "help",
    "J": "job-name",
    "k": "no-kill",
    "L": "licenses",
    "M": "clusters",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "O": "overcommit",
    "p": "partition",
    "Q": "quiet",
    "q": "qos",
    "S": "core-spec",
    "s": "oversubscribe",
    "t": "time",
    "V": "version",
    "v": "verbose",
    "w": "nodelist",
    "x": "exclude",
}
_FLAGS = frozenset(
    {"contiguous", "help", "hold", "overcommit", "oversubscribe", "quiet", "reboot", "spread-job", "usage"}
    | {"use-min-nodes", "verbose", "version"}
)
_OPTIONAL = frozenset({"exclusive", "get-user-env", "nice", "no-kill"})
_VALUED = frozenset(
    {"account", "acctg-freq", "bb", "bbf", "begin", "chdir", "clusters", "comment", "constraint", "container"}
    | {"core-spec", "cores-per-socket", "cpu-freq", "cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot"}
    | {"dependency", "distribution", "exclude", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus"}
    | {"gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "hint", "job-name", "licenses"}
    | {"mail-type", "mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "network"}
    | {"nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node"}
    | {"ntasks-per-socket", "partition", "power", "prefer", "priority", "profile", "qos", "reservation", "signal"}
    | {"sockets-per-node", "switches", "thread-spec", "threads-per-core", "time", "time-min", "tmp", "uid"}
    | {"wait-all-nodes", "wckey"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The options that one command has."""

    program: str
    short: Mapping[str, str]
    flags: frozenset[str]
    """Options that take no value."""
    optional: frozenset[str]
    """Options that take a value only in the same word."""
    valued: frozenset[str]


SBATCH = Grammar(
    program="sbatch",
    short={**_SHORT, "a": "array", "e": "error", "i": "input", "o": "output", "W": "wait"},
    flags=_FLAGS | {"ignore-pbs", "no-requeue", "parsable", "requeue", "test-only", "wait"},
    optional=_OPTIONAL,
    valued=_VALUED
    | {"array", "batch", "error", "export", "export-file", "input", "kill-on-invalid-dep", "open-mode"}
    | {"output", "propagate", "wrap"},
)
SRUN = Grammar(
    program="srun",
    short={
        **_SHORT,
        "B": "extra-node-info",
        "E": "preserve-env",
        "e": "error",
        "I": "immediate",
        "i": "input",
        "K": "kill-on-bad-exit",
        "l": "label",
        "o": "output",
        "r": "relative",
        "T": "threads",
        "u": "unbuffered",
        "W": "wait",
        "X": "disable-status",
        "Z": "no-allocate",
    },
    flags=_FLAGS
    | {"disable-status", "exact", "interactive", "label", "multi-prog", "no-allocate", "overlap"}
    | {"preserve-env", "quit-on-interrupt", "test-only", "unbuffered", "whole"},
    optional=_OPTIONAL | {"immediate", "kill-on-bad-exit", "pty", "propagate"},
    valued=_VALUED
    | {"accel-bind", "bcast", "compress", "cpu-bind", "epilog", "error", "export", "het-group", "input"}
    | {"jobid", "max-exit-timeout", "max-threads", "mpi", "msg-timeout", "open-mode", "output", "prolog", "relative"}
    | {"slurmd-debug", "task-epilog", "task-prolog", "threads", "treewidth", "wait"},
)
SALLOC = Grammar(
    program="salloc",
    short={**_SHORT, "I": "immediate", "K": "kill-command", "W": "wait"},
    flags=_FLAGS | {"bell", "no-bell", "no-shell"},
    optional=_OPTIONAL | {"immediate", "kill-command"},
    valued=_VALUED | {"wait", "x11"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option as it was written, under its long name."""

    name: str
    value: str
    line: int = 0
    """0 for a command line."""


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
        for option in _line_options(line.removeprefix(MARK), number)
    ]
    return BatchScript(
        interpreter=interpreter, options=tuple(options), body="\n".join(lines[first:]), body_line=first + 1
    )


def _line_options(text: str, line: int) -> list[Option]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError as error:
        raise BadOption(line, "", f"cannot be read: {str(error).lower()}", "are the quotes closed?") from None
    if words[:1] in (["hetjob"], ["packjob"]):
        raise BadOption(
            line, "", "heterogeneous jobs (hetjob) are not known here", "roles in a job file are several kinds"
        )
    options, rest = read_options(words, SBATCH, line=line)
    if rest:
        raise BadOption(line, "", f"{rest[0]!r} is not an option", "options begin with - or --")
    return options


def read_options(words: Sequence[str], grammar: Grammar, *, line: int = 0) -> tuple[list[Option], list[str]]:
    """The options at the beginning of a command line, and the words after them."""
    found: list[Option] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        taken, needs_value = _taken(word, grammar, line)
        if needs_value:
            if at == len(words):
                raise BadOption(line, taken[-1].name, f"option requires an argument -- '{taken[-1].name}'")
            taken[-1] = Option(name=taken[-1].name, value=words[at], line=line)
            at += 1
        found += taken
    return found, list(words[at:])


def _taken(word: str, grammar: Grammar, line: int) -> tuple[list[Option], bool]:
    """The options in one word, and whether the next word is the value of the last."""
    if word.startswith("--"):
        said, equals, value = word[2:].partition("=")
        name = _long_name(said, grammar, line)
        return [Option(name=name, value=value, line=line)], name in grammar.valued and not equals
    options: list[Option] = []
    letters = word[1:]
    while letters:
        name = grammar.short.get(letters[0], "")
        if not name:
            raise BadOption(line, "", f"invalid option -- '{letters[0]}'", _help(grammar))
        letters = letters[1:]
        if name in grammar.flags:
            options.append(Option(name=name, value="", line=line))
            continue
        value = letters.removeprefix("=")
        return [*options, Option(name=name, value=value, line=line)], name in grammar.valued and not value
    return options, False


def _long_name(said: str, grammar: Grammar, line: int) -> str:
    known = grammar.flags | grammar.optional | grammar.valued
    if said in known:
        return said
    meant = sorted(name for name in known if name.startswith(said))
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise BadOption(line, said, f"option '--{said}' is ambiguous: {', '.join(f'--{name}' for name in meant)}")
    raise BadOption(line, "", f"unrecognized option '--{said}'", _help(grammar))


def _help(grammar: Grammar) -> str:
    return f'Try "{grammar.program} --help" for more information'
