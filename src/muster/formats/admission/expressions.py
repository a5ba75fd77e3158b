"""Conditions of admission rules, in CEL: checked when they are configured, compiled once, and bounded.

CEL has no loops but those over a list or a map that is there, no recursion and no side effects. The library gives up
after ten thousand steps of such loops and at 32 levels of nesting, and its regular expressions take linear time. What
is left is bounded by the length of a text, here, and by the time and memory of the process in which rules are judged.

The library is loaded when the first expression is checked. A client that has not installed it leaves the check to the
server.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from muster.formats.jobs.job_wire import JobWire
from muster.formats.parts.wire import closest
from muster.formats.text.ranges import worker_range
from muster.formats.text.units import BadValue, duration_ms, gpu_milli, memory_bytes
from muster.model.client_limits import EXPRESSION_CHARS
from muster.model.errors import InvalidInput

if TYPE_CHECKING:
    from cel_expr_python import cel

LIBRARY = "cel_expr_python"
INSTALL = "pip install 'muster-scheduler[admission]'"
KEPT = 1024
"""Checked expressions that are remembered, so that rules that did not change are not checked again."""

VARIABLES = "`job`, `user`, `team` and `now`"
_LITERAL = re.compile(r"r?('''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.DOTALL)
_KEY = re.compile(r"(?<![\w.])job((?:\s*\.\s*[A-Za-z_]\w*(?!\w*\s*\())+)")
_UNKNOWN = re.compile(r"undeclared reference to '(?:[\w.]*?)(\w+)'")
_PLACE = re.compile(r"ERROR: <input>:(\d+):(-?\d+): (.*?)(?: \(in container ''\))?(?:\n|\[|$)", re.DOTALL)


class BadExpression(ValueError):
    """An expression that cannot be a condition."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem, self.hint = problem, hint


class NotJudged(Exception):
    """A condition that has no value for this job, such as one that looks at a key that is not there."""


def is_available() -> bool:
    """Whether the library is installed."""
    return find_spec(LIBRARY) is not None


def require_library() -> None:
    """Raise unless conditions can be judged here."""
    if not is_available():
        raise InvalidInput(f"admission rules with `when` need a library that is not installed: {INSTALL}")


def check_expression(text: str) -> None:
    """Raise `BadExpression` unless this is a condition. Without the library only what needs none is checked."""
    problem = _problem(text)
    if problem is not None:
        raise BadExpression(*problem)


@lru_cache(maxsize=KEPT)
def _problem(text: str) -> tuple[str, str] | None:
    try:
        _check_size(text)
        _check_keys(text)
        if is_available():
            _compiled(text)
    except BadExpression as error:
        return error.problem, error.hint
    return None


class Condition:
    """A compiled condition."""

    def __init__(self, text: str) -> None:
        _check_size(text)
        self._expression = _compiled(text)

    def holds(self, about: "cel.Activation") -> bool:
        """Whether it holds. Raises `NotJudged` when it has no value."""
        try:
            found = self._expression.eval(about)
            kind, value = found.type().name(), found.value()
        except RuntimeError as error:
            raise NotJudged(_cause(str(error))) from None
        if kind != "BOOL":
            raise NotJudged(_cause(str(value)) if kind == "ERROR" else f"it is a {kind.lower()}, not true or false")
        return bool(value)


def facts(job: Mapping[str, Any], *, user: str, team: str, now_ms: int) -> "cel.Activation":
    """What conditions are judged by."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    return _environment().Activation({"job": dict(job), "user": user, "team": team, "now": now})


def _check_size(text: str) -> None:
    if len(text) > EXPRESSION_CHARS:
        raise BadExpression(f"has {len(text)} characters", f"at most {EXPRESSION_CHARS}; make two rules of it")
    if not text.strip():
        raise BadExpression("is empty", "leave `when` out for a rule about every job")


def _check_keys(text: str) -> None:
    """Raise when it names a key of the job file that there is not: CEL itself would find that out job by job."""
    for match in _KEY.finditer(_LITERAL.sub("''", text)):
        owner: Any = JobWire
        path = "job"
        for key in re.findall(r"\w+", match[1]):
            known = owner.known_keys() if hasattr(owner, "known_keys") else None
            if known is None:
                break
            if key not in known:
                raise BadExpression(f"there is no key {path}.{key} in a job file", closest(key, known))
            owner, path = _part_of(known[key]), f"{path}.{key}"


def _part_of(hint: Any) -> Any:
    from muster.annotations import unmarked  # noqa: PLC0415

    return unmarked(hint)


def _compiled(text: str) -> "cel.Expression":
    try:
        expression = _environment().compile(text)
        kind = expression.return_type().name()
    except RuntimeError as error:
        raise _explained(str(error)) from None
    if kind not in ("BOOL", "DYN"):
        raise BadExpression(f"is a {kind.lower()}, not true or false", "compare it with something")
    return expression


def _explained(told: str) -> BadExpression:
    """What the library says of a text, in the words of other errors."""
    found = _PLACE.search(told)
    if found is None or "recursion" in told:
        deep = "recursion" in told or "nest" in told
        return BadExpression("is nested too deeply" if deep else _cause(told), "make several rules of it")
    line, column, said = found[1], int(found[2]), " ".join(found[3].split())
    unknown = _UNKNOWN.search(said)
    if unknown is not None:
        return BadExpression(f"{said} (line {line}, column {column})", f"conditions are about {VARIABLES}")
    where = f" (line {line}, column {column})" if column > 0 else ""
    return BadExpression(f"is not CEL: {said[:300]}{where}", "see docs/guides/admission.md")


def _cause(told: str) -> str:
    """The first line of what the library says, without its words for programs."""
    first = told.splitlines()[0] if told else "no reason was given"
    first = re.sub(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$", "", first)
    missing = re.match(r'Key not found in map : "?([^"]*)"?', first)
    if missing is not None:
        return f"the job has no {missing[1]}; ask has(…) first"
    if "budget" in first:
        return "it takes too many steps"
    return first[:300]


@cache
def _environment() -> "cel.Env":
    """The variables and functions that conditions know."""
    from cel_expr_python import cel  # noqa: PLC0415 (it is optional)

    types = cel.Type
    job, amounts = types.Map(types.STRING, types.DYN), (types.STRING, types.INT, types.DOUBLE)
    return cel.NewEnv(
        variables={"job": job, "user": types.STRING, "team": types.STRING, "now": types.TIMESTAMP},
        functions=[
            _function("seconds", amounts, _read(duration_ms, 1000)),
            _function("memory", amounts, _read(memory_bytes, 1)),
            _function("gpus", (job,), _total_gpus),
        ],
    )


def _function(name: str, takes: "Sequence[cel.Type]", made: Callable[[Any], int | float]) -> "cel.FunctionDecl":
    """A function of one value. What it gives has no declared type, so that it compares with whole numbers too."""
    from cel_expr_python import cel  # noqa: PLC0415

    forms = [
        cel.Overload(f"{name}_{place}", return_type=cel.Type.DYN, parameters=[each], impl=made)
        for place, each in enumerate(takes)
    ]
    return cel.FunctionDecl(name, forms)


def _read(kind: Callable[[object], int], unit: int) -> Callable[[Any], int | float]:
    """A value of a job file as a plain number."""

    def read(value: Any) -> int | float:
        try:
            return _plain(kind(value), unit)
        except BadValue as error:
            raise ValueError(error.problem) from None

    return read


def _total_gpus(job: Any) -> int | float:
    """The GPUs of a job's gang at its largest."""
    roles = job.get("roles") or {"": job}
    return _plain(sum(_gpus(role) for role in roles.values()), 1000)


def _plain(amount: int, unit: int) -> int | float:
    return amount / unit if amount % unit else amount // unit


def _gpus(role: Mapping[str, Any]) -> int:
    resources = role.get("resources") or {}
    return worker_range(role.get("workers", 1))[1] * gpu_milli(resources.get("gpus", 0) or 0)
