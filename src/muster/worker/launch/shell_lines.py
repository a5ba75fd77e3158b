"""Reads the line that a job runs: which Python program it starts, if it starts one and nothing else. Pure.

A launcher can only be put around one program. A line with several is left as its author wrote it.
"""

import re
from dataclasses import dataclass

_PREPARES = frozenset((".", "cd", "export", "module", "set", "source", "ulimit", "umask"))
"""What a shell does for the command after it. It starts no program of the job, so a launcher belongs behind it."""

_SEPARATOR = re.compile(r"&&|;|\n")
_JOINED = re.compile(r"[&|()`]|\$\(")
"""What makes one command out of several, or sends it to the background."""

_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|(?<!\S)\#[^\n]*""", re.DOTALL)
"""Text in which the shell finds no operators: quotes, escaped characters, comments."""

_PROGRAM = re.compile(
    r"""(?P<before>(?:exec\s+)?(?:[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s'"])*\s+)*)  # variables for this command only
        (?:(?P<python>"[^"]*\bpython[\d.]*"|(?:[^\s'"]*/)?python[\d.]*)\s+)?
        (?P<options>(?:-[bBdEiIOPqsSuvx]+\s+|-[WX]\s*\S+\s+)*)
        (?P<program>-m\s+[\w.]+|[^\s'"]+\.py|"[^"]+\.py"|-c\s)
        (?P<arguments>(?:\s.*)?|(?<=-c\s).*)""",
    re.VERBOSE | re.DOTALL,
)
_LAUNCHES = re.compile(r"-m\s+(torch\.distributed\b|accelerate\b|deepspeed\b|lightning\b)")
"""Modules that are launchers themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonProgram:
    """The only program of a line, which an interpreter runs."""

    before: str
    """What stands before it: preparations and variables, up to where a launcher can be inserted."""
    python: str
    """The interpreter as the line names it; empty for a script that is run by its own name."""
    program: str
    """Options of the interpreter, the script or module, and its arguments."""


def single_command(line: str) -> tuple[str, str] | None:
    """The only command of a line, with the preparations before it; None when the line runs several or none."""
    text = line.strip().removesuffix(";").rstrip()
    plain = _QUOTED.sub(lambda found: "_" * len(found[0]), text)
    if _JOINED.search(plain.replace("&&", "; ").replace(">&", "> ").replace("&>", " >")):
        return None
    begin = 0
    for found in _SEPARATOR.finditer(plain):
        words = text[begin : found.start()].split()
        if words and words[0] not in _PREPARES and not words[0].startswith("#"):
            return None
        begin = found.end()
    command = text[begin:].lstrip()
    return (text[: len(text) - len(command)], command) if command and not command.startswith("#") else None


def python_program(line: str) -> PythonProgram | None:
    """The Python program of a line; None when the line runs anything else, or a launcher of its own."""
    parts = single_command(line)
    found = None if parts is None else _PROGRAM.fullmatch(parts[1])
    if parts is None or found is None or _LAUNCHES.match(found["program"]):
        return None
    if found["python"] is None and found["program"].startswith("-"):
        return None
    return PythonProgram(
        before=parts[0] + found["before"],
        python=found["python"] or "",
        program=found["options"] + found["program"] + found["arguments"],
    )
