"""Quotas that can be written and cannot be kept: guarantees above what the cluster has, and limits that never count.

Quotas that contradict each other are refused when they are read. What is found here may be meant so, because nodes come
later or are away. So operators are warned and nothing is refused.
"""

from collections.abc import Iterable, Mapping, Sequence

from muster.model.ids import GpuType, TeamPath
from muster.model.node import Node
from muster.model.records import Record
from muster.model.resources import GPU_MILLI, gpus_text
from muster.model.team import ANY_TYPE, Team, ancestors

Amounts = dict[GpuType, int]
"""GPU thousandths by type."""


class QuotaDoubt(Record, frozen=True, kw_only=True):
    """Something about quotas that cannot be kept, or that never counts."""

    teams: tuple[TeamPath, ...]
    """The teams whose quotas it is about."""
    message: str


def quota_doubts(teams: Sequence[Team], nodes: Iterable[Node]) -> tuple[QuotaDoubt, ...]:
    """Everything that is doubtful about the quotas of teams on a cluster with these nodes, in whatever state."""
    capacity: Amounts = {ANY_TYPE: 0}
    for node in nodes:
        for kind in (node.gpu_type, ANY_TYPE):
            capacity[kind] = capacity.get(kind, 0) + node.gpus * GPU_MILLI
    by_path = {team.path: team for team in teams}
    single = [doubt for team in teams for doubt in _of_team(team, by_path, capacity)]
    return (*single, *_of_all(teams, capacity))


def _of_team(team: Team, by_path: Mapping[TeamPath, Team], capacity: Amounts) -> Iterable[QuotaDoubt]:
    for kind, milli in team.guaranteed:
        if milli > capacity.get(kind, 0):
            yield _doubt(team, f"is guaranteed {_gpus(milli, kind)}, and {_there(kind, capacity)}")
    for kind, milli in team.limit:
        if kind not in capacity:
            yield _doubt(team, f"has a limit of {_gpus(milli, kind)}, and {_there(kind, capacity)}")
        for above in (by_path[path] for path in ancestors(team.path)[1:] if path in by_path):
            most = dict(above.limit).get(kind)
            if most is not None and most < milli:
                holds = f"team {above.path} above it only {_gpus(most, kind)}, which is what counts"
                yield _doubt(team, f"may use {_gpus(milli, kind)}, and {holds}")
                break


def _of_all(teams: Sequence[Team], capacity: Amounts) -> Iterable[QuotaDoubt]:
    """Guarantees of the outermost teams that are possible one by one and not together."""
    roots = [(path, amounts) for path, amounts in _promised(teams).items() if "/" not in path]
    for kind, most in sorted(capacity.items()):
        sharers = [(path, amounts[kind]) for path, amounts in roots if amounts.get(kind)]
        together = sum(milli for _, milli in sharers)
        if together > most and all(milli <= most for _, milli in sharers):
            message = f"teams are guaranteed {_gpus(together, kind)} together, and {_there(kind, capacity)}"
            yield QuotaDoubt(teams=tuple(path for path, _ in sharers), message=message)


def _promised(teams: Sequence[Team]) -> dict[TeamPath, Amounts]:
    """What each team is guaranteed in all: its own guarantee, or the sum of its children's."""
    own = {team.path: dict(team.guaranteed) for team in teams}
    paths = dict.fromkeys(path for team in teams for path in ancestors(team.path))
    found: dict[TeamPath, Amounts] = {path: {} for path in paths}
    for path in sorted(paths, key=lambda path: -path.count("/")):
        amounts = found[path]
        amounts |= own.get(path, {})
        by_type = sum(milli for kind, milli in amounts.items() if kind != ANY_TYPE)
        amounts[ANY_TYPE] = max(by_type, amounts.get(ANY_TYPE, 0))
        parent = found.get(TeamPath(str(path).rpartition("/")[0]))
        if parent is not None:
            for kind, milli in amounts.items():
                parent[kind] = parent.get(kind, 0) + milli
    return found


def _doubt(team: Team, message: str) -> QuotaDoubt:
    return QuotaDoubt(teams=(team.path,), message=f"team {team.path} {message}")


def _there(kind: GpuType, capacity: Amounts) -> str:
    if kind in capacity:
        return f"the cluster has {_gpus(capacity[kind], kind)}"
    types = ", ".join(sorted(str(each) for each in capacity if each and each != ANY_TYPE))
    return f"no node has a GPU of that type (there are: {types})" if types else "the GPUs of the nodes have no type"


def _gpus(milli: int, kind: GpuType) -> str:
    if kind in (ANY_TYPE, GpuType("")):
        return f"{gpus_text(milli)} GPUs"
    return f"{gpus_text(milli)} {kind}"
