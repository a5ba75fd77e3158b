"""Rules of three sources in one: what a file says, what was configured last, and what was changed at run time.

A setting that only the file changed becomes what the file says. A setting that was only changed at run time stays as it
is. Where both changed it, in different ways, there is a conflict, and what is in force stays, unless the file is to
count alone. Settings are compared one by one: one limit of one team, one field of the policy.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from muster.formats.admission.profiles import profiles_document, profiles_part
from muster.formats.admission.rules import admission_document, admission_part
from muster.formats.rules.rules import policy_document, pools_document, tiers_document
from muster.formats.rules.team_tree import TeamWire
from muster.formats.scenarios.references import read_references
from muster.formats.text.document import Document, InvalidDocument, Problems
from muster.model.closed_rules import beyond_those_above, closed
from muster.model.errors import Conflict
from muster.model.scenario import Rules

NAMED_LISTS = ("tiers", "admission")
"""Lists whose entries have names. They are compared entry by entry where all three have the same names in one order."""


class ChangedBy(StrEnum):
    """Who changed a setting since it was configured last."""

    FILE = "file"
    RUN_TIME = "run time"
    BOTH = "both"
    """In different ways: a conflict."""


class Absent:
    """What a source says of a setting that it does not have."""

    def __bool__(self) -> bool:
        """Never."""
        return False


ABSENT = Absent()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """A setting that is not the same in all three sources. None stands for a setting that a source does not have."""

    setting: str
    """Such as `policy.min_runtime` or `teams.nlp/eval.limit.h100`."""
    changed_by: ChangedBy
    configured: Any
    now: Any
    file: Any
    becomes: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMerge:
    """The rules that follow, and every setting in which the sources differ."""

    rules: Rules
    changes: tuple[RuleChange, ...]
    is_first: bool
    """True when nothing was configured before."""

    def by(self, author: ChangedBy) -> tuple[RuleChange, ...]:
        """The settings that were changed by the file, at run time, or by both."""
        return tuple(change for change in self.changes if change.changed_by is author)


def merge_rules(*, file: Rules, configured: Rules | None, now: Rules, drop: bool = False) -> RuleMerge:
    """The rules that follow from these three. With `drop`, what was changed at run time is dropped.

    Raises `Conflict` when the parts that were put together contradict each other.
    """
    file, now, last = closed(file), closed(now), closed(configured or Rules())
    sources = _Sources(_settings(last), _settings(now), _settings(file))
    for part in NAMED_LISTS:
        if _names(sources.last[part]) == _names(sources.now[part]) == _names(sources.file[part]):
            sources = _Sources(
                *(dict(all_, **{part: {each["name"]: each for each in all_[part]}}) for all_ in sources.all)
            )
    changes: list[RuleChange] = []
    merged = _merged(sources, (), drop, changes)
    rules = file if drop else _rules(merged)
    return RuleMerge(rules=rules, changes=tuple(changes), is_first=configured is None)


@dataclass(frozen=True, slots=True)
class _Sources:
    """The same part of all three."""

    last: Any
    now: Any
    file: Any

    @property
    def all(self) -> tuple[Any, Any, Any]:
        return self.last, self.now, self.file

    @property
    def are_mappings(self) -> bool:
        """True when the keys can be compared one by one: what is in force and the file both have a mapping."""
        in_both = isinstance(self.now, dict) and isinstance(self.file, dict)
        return in_both and isinstance(self.last, dict | Absent)

    def below(self, key: str) -> "_Sources":
        return _Sources(*((each or {}).get(key, ABSENT) for each in self.all))


def _merged(sources: _Sources, at: tuple[str, ...], drop: bool, changes: list[RuleChange]) -> Any:
    """What follows for one part. Every setting in it that differs is noted."""
    if sources.are_mappings:
        keys = dict.fromkeys(key for each in sources.all for key in each or {})
        below = {key: _merged(sources.below(key), (*at, key), drop, changes) for key in keys}
        return {key: value for key, value in below.items() if value is not ABSENT}
    last, now, file = sources.all
    if now == file:
        return now
    author = ChangedBy.FILE if now == last else ChangedBy.RUN_TIME if file == last else ChangedBy.BOTH
    becomes = file if drop or author is ChangedBy.FILE else now
    shown = {"configured": last, "now": now, "file": file, "becomes": becomes}
    values = {key: None if value is ABSENT else value for key, value in shown.items()}
    changes.append(RuleChange(setting=".".join(at), changed_by=author, **values))
    return becomes


def _settings(rules: Rules) -> dict[str, Any]:
    """The rules as nested mappings, with teams by their paths."""
    return {
        "policy": policy_document(rules.policy),
        "tiers": tiers_document(rules.tiers),
        "pools": pools_document(rules.pools),
        "teams": {team.path: _present(TeamWire.complete(team)) for team in rules.teams},
        "admission": admission_document(rules.admission),
        "profiles": profiles_document(rules.profiles),
    }


def _present(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value is not None}


def _names(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    return [each["name"] for each in entries]


def _listed(part: Any) -> list[Any]:
    return part if isinstance(part, list) else list(part.values())


def _rules(settings: Mapping[str, Any]) -> Rules:
    """The rules again, checked like those of a file."""
    parts = {
        "policy": settings["policy"],
        "tiers": _listed(settings["tiers"]),
        "pools": settings["pools"] or None,
        "teams": _tree(settings["teams"]) or None,
    }
    problems = Problems(Document(file="the merged rules", value=parts))
    read = read_references(parts, problems)
    admission = admission_part(_listed(settings["admission"]), problems, ("admission",))
    profiles = profiles_part(settings["profiles"], problems, ("profiles",))
    try:
        problems.stop_if_any()
    except InvalidDocument as error:
        raise _contradiction(str(error)) from None
    rules = closed(
        Rules(
            teams=read.teams,
            tiers=read.tiers,
            pools=read.pools,
            policy=read.policy,
            admission=admission,
            profiles=profiles,
        )
    )
    if beyond := next(_beyond(rules), None):
        raise _contradiction(beyond)
    return rules


def _beyond(rules: Rules) -> Iterator[str]:
    for team in rules.teams:
        if (found := beyond_those_above(team, rules.teams)) is not None:
            yield f"{found[0]}: {found[1]}"


def _contradiction(problem: str) -> Conflict:
    return Conflict(
        f"the file and what was changed at run time contradict each other: {problem}; --drop-changes takes the file's"
    )


def _tree(teams: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The teams as a file nests them."""
    root: dict[str, Any] = {}
    for path, team in teams.items():
        *above, name = path.split("/")
        level = root
        for each in above:
            level = level.setdefault(each, {}).setdefault("teams", {})
        level[name] = {**team, **({"teams": level[name]["teams"]} if "teams" in level.get(name, {}) else {})}
    return root
