"""The `teams` part of a scenario <-> teams with their quotas, and whether their guarantees are possible.

A guarantee is impossible when it exceeds a limit above it, or when a team's children are together guaranteed more
than the team itself. A child's limit may exceed its parent's limit. Then the parent's limit holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from muster.formats.parts.kinds import Name, Names, PositiveThousandths, Thousandths
from muster.formats.parts.parts import NamedPart, Stored
from muster.formats.text.document import Problems
from muster.formats.text.ranges import is_team_name
from muster.formats.text.units import plain_number, shown
from muster.formats.text.yaml_text import Loc
from muster.model.ids import TeamPath
from muster.model.limits import PRIORITY_MAX, TEAM_DEPTH
from muster.model.team import ANY_TYPE, Team


class TeamWire(NamedPart, record=Team):
    """One team and, below it, its own teams, which are read one level at a time."""

    guaranteed: dict[Name, Thousandths]
    limit: dict[Name, Thousandths]
    weight: Annotated[PositiveThousandths, Stored("weight")]
    """Its part among its siblings, when teams borrow and in fair share."""
    tiers: Names
    """The tiers that its jobs may use. Left out: on a server all but the highest, in a scenario all."""
    max_priority: Annotated[int, Field(ge=0, le=PRIORITY_MAX)]
    """The highest priority that its jobs may have. Left out: any."""
    allow_unpreemptible: bool
    """Whether its jobs may say `preemptible: false`. Left out: on a server they may not."""
    teams: Annotated[dict[str, Any], Stored()]
    """The teams below it, each written like a team."""


@dataclass(slots=True)
class _TeamBranch:
    """A team with its place in the file and the branches below it."""

    team: Team
    at: Loc
    children: "list[_TeamBranch]" = field(default_factory=list)


def team_tree(value: object, problems: Problems, at: Loc) -> tuple[Team, ...]:
    """All teams, parents before their children. What is wrong with them is noted."""
    before = problems.count
    roots = _branches(value, "", problems, at)
    if problems.count == before:
        for root in roots:
            _promised(root, problems)
    return tuple(team for root in roots for team in _flattened(root))


def teams_document(teams: Sequence[Team]) -> dict[str, Any]:
    """The team tree as plain values. A parent that is not among the teams becomes an entry without quotas."""
    root: dict[str, Any] = {}
    for team in teams:
        level, entry = root, root
        for name in team.path.split("/"):
            entry = level.setdefault(name, {})
            level = entry.setdefault("teams", {})
        entry |= {key: value for key, value in TeamWire.complete(team).items() if value is not None}
    return root


def _branches(value: object, parent: str, problems: Problems, at: Loc) -> list[_TeamBranch]:
    if not isinstance(value, dict):
        problems.add(at, f"must be a mapping of team names to teams, not {shown(value)}")
        return []
    if value and parent.count("/") + 1 >= TEAM_DEPTH and parent:
        problems.add(at, f"more than {TEAM_DEPTH} levels of teams")
        return []
    found = (_branch(name, each, parent, problems, (*at, name)) for name, each in value.items())
    return [branch for branch in found if branch is not None]


def _branch(name: str, value: object, parent: str, problems: Problems, at: Loc) -> _TeamBranch | None:
    if not is_team_name(name):
        hint = "a letter or a digit first, no blanks or slashes; nest teams with teams: {…}"
        problems.add(at, f"{shown(name)} is not a name for a team", hint)
        return None
    given = TeamWire.read({} if value is None else value, problems, at)
    if given is None:
        return None
    path = TeamPath(f"{parent}/{name}" if parent else name)
    team = Team(path=path, **TeamWire.fields(given))
    return _TeamBranch(team=team, at=at, children=_branches(given.get("teams", {}), path, problems, (*at, "teams")))


def _flattened(branch: _TeamBranch) -> Iterator[Team]:
    yield branch.team
    for child in branch.children:
        yield from _flattened(child)


def _promised(branch: _TeamBranch, problems: Problems) -> dict[str, int]:
    """What the branch is guaranteed in all, by type: its own guarantee, or the sum of its children's."""
    below: dict[str, int] = {}
    for child in branch.children:
        for gpu_type, amount in _promised(child, problems).items():
            below[gpu_type] = below.get(gpu_type, 0) + amount
    own = dict[str, int](branch.team.guaranteed)
    for gpu_type, most in own.items():
        if below.get(gpu_type, 0) > most:
            promised = f"{_gpus(below[gpu_type], gpu_type)} together, and it only {_gpus(most, gpu_type)}"
            problem = f"the teams below {branch.team.path!r} are guaranteed {promised}"
            problems.add((*branch.at, "teams"), problem, "raise its guarantee or lower theirs")
    _check_limits(branch, own, below, problems)
    return _with_sum({**below, **own})


def _check_limits(branch: _TeamBranch, own: dict[str, int], below: dict[str, int], problems: Problems) -> None:
    in_all = _with_sum({**below, **own})
    for gpu_type, most in branch.team.limit:
        amount = in_all.get(gpu_type, 0)
        if amount <= most:
            continue
        by_itself = _with_sum(own).get(gpu_type, 0) > most
        whose = f"team {branch.team.path!r} is" if by_itself else f"the teams below {branch.team.path!r} are"
        problem = f"{whose} guaranteed {_gpus(amount, gpu_type)}, above its limit of {_gpus(most, gpu_type)}"
        problems.add((*branch.at, "guaranteed" if by_itself else "teams"), problem, "raise the limit or lower it")


def _with_sum(amounts: dict[str, int]) -> dict[str, int]:
    """The amounts, with `*` at least the sum over types."""
    by_type = sum(amount for gpu_type, amount in amounts.items() if gpu_type != ANY_TYPE)
    return {**amounts, ANY_TYPE: max(by_type, amounts.get(ANY_TYPE, 0))}


def _gpus(amount: int, gpu_type: str) -> str:
    return f"{plain_number(amount)} GPUs" if gpu_type == ANY_TYPE else f"{plain_number(amount)} {gpu_type}"
