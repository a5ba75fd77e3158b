"""Lasting overload: where jobs asked for more GPUs than there were, or than their team may use, for days.

Demand passes the limits of its teams, from the inside out, then the nodes that its jobs accept, then the whole cluster.
Each of these lets through no more than it has. So a cluster is overloaded only by what the quotas let through, and
nodes that few jobs accept do not make the others look overloaded. Nodes count as if they were always up.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from muster.model.ids import GpuType, PoolName, TeamPath
from muster.model.node import Node
from muster.model.policy import Pool
from muster.model.records import Record
from muster.model.resources import GPU_MILLI
from muster.model.team import ANY_TYPE, Team, ancestors
from muster.model.trace import TraceJob
from muster.sim.fluid import Flow, Steps, Stretch, enough_milli, merged
from muster.sim.speeds import GpusByType, mean_speed

EVERYBODY = TeamPath("")
"""Stands for all teams: what is short is GPUs, not quota."""
CURVE_STEPS = 240


class NodeKind(Record, frozen=True, kw_only=True):
    """Nodes that are alike."""

    pool: PoolName
    gpu_type: GpuType
    gpus: int
    """Of each node."""
    nodes: int


class CurvePoint(Record, frozen=True, kw_only=True):
    """Demand over a short time, and the backlog at its end."""

    at_ms: int
    demand_milli: int
    """On average."""
    behind_ms: int
    """How long the whole capacity needs for the backlog."""


class Overload(Record, frozen=True, kw_only=True):
    """A part of the cluster, or the quota of a team, that was overloaded for long."""

    team: TeamPath
    """Whose limit it is; `EVERYBODY` where GPUs are short."""
    kinds: tuple[NodeKind, ...]
    """The nodes that it is about, most GPUs first."""
    capacity_milli: int
    """The GPUs of these nodes, or the limit of the team."""
    jobs: int
    load: float | None
    """GPU time of all its jobs over that of the capacity from the first submission to the last; None if they are the
    same moment."""
    stretches: tuple[Stretch, ...]
    """In the order of time."""
    enough_milli: int
    """How much more capacity leaves no lasting overload: whole nodes of the first kind, or whole GPUs of a limit."""
    curve: tuple[CurvePoint, ...]

    @property
    def worst(self) -> Stretch:
        """The stretch with the largest backlog."""
        return max(self.stretches, key=lambda stretch: stretch.behind_ms)

    def missing_milli(self, load: float, *, target: float) -> int:
        """How much more capacity brings a load down to a target."""
        return max(0, round(self.capacity_milli * load / target) - self.capacity_milli)


class Overloads:
    """Finds every lasting overload of some jobs on a cluster, and what each job waits because of it."""

    def __init__(
        self,
        jobs: Sequence[TraceJob],
        nodes: Iterable[Node],
        *,
        pools: Iterable[Pool] = (),
        teams: Iterable[Team] = (),
        can_resume: bool = True,
    ) -> None:
        self.found: list[Overload] = []
        self.wait_ms = [0] * len(jobs)
        """How long each job would wait in overloaded parts if all were served in the order of submission."""
        self._jobs = jobs
        self._kinds = _kinds(nodes)
        self._pools = {pool.name: pool for pool in pools}
        self._limits = {team.path: dict(team.limit) for team in teams if team.limit}
        self._can_resume = can_resume
        self._gpus_by_type = _gpus_by_type(self._kinds)
        self._span_ms = jobs[-1].submit_ms - jobs[0].submit_ms if jobs else 0
        if self._kinds and jobs:
            self._pass_all()

    def _pass_all(self) -> None:
        """Let the demand of all jobs pass every limit and every part of the cluster."""
        groups: dict[tuple[NodeKind, ...], list[int]] = {}
        accepted: dict[tuple[object, ...], tuple[NodeKind, ...]] = {}
        for place, job in enumerate(self._jobs):
            key = (job.gpu_types, job.tier, job.team)
            if key not in accepted:
                accepted[key] = self._accepted(job)
            if job.gpu_milli and accepted[key]:
                groups.setdefault(accepted[key], []).append(place)
        inflow: list[Steps] = []
        for kinds, places in groups.items():
            through = self._pass_teams(kinds, places)
            if len(kinds) < len(self._kinds):
                through = [self._pass(through, EVERYBODY, kinds, _milli(kinds), places)]
            inflow += through
        if inflow:
            everywhere = [place for places in groups.values() for place in places]
            self._pass(inflow, EVERYBODY, self._kinds, _milli(self._kinds), everywhere)

    def _accepted(self, job: TraceJob) -> tuple[NodeKind, ...]:
        """The nodes that a job may get."""
        return tuple(
            kind
            for kind in self._kinds
            if (not job.gpu_types or kind.gpu_type in job.gpu_types)
            and (
                kind.pool not in self._pools
                or self._pools[kind.pool].admits(tier=job.tier, team=job.team, can_resume=self._can_resume)
            )
        )

    def _pass_teams(self, kinds: tuple[NodeKind, ...], places: Sequence[int]) -> list[Steps]:
        """Let the demand of jobs that accept the same nodes pass the limits of their teams, innermost first."""
        limits = {path: limit for path in self._limits if (limit := self._limit_milli(path, kinds)) is not None}
        waiting: dict[TeamPath, list[Steps]] = {EVERYBODY: [[]]}
        members: dict[TeamPath, list[int]] = {}
        for place in places:
            chain = [path for path in ancestors(self._jobs[place].team) if path in limits] if limits else []
            waiting.setdefault(chain[0] if chain else EVERYBODY, [[]])[0].extend(self._steps(place))
            for path in chain:
                members.setdefault(path, []).append(place)
        for path in sorted(members, key=lambda path: (-path.count("/"), path)):
            outer = next((each for each in ancestors(path)[1:] if each in limits), EVERYBODY)
            through = self._pass(waiting.pop(path, []), path, kinds, limits[path], members[path])
            waiting.setdefault(outer, [[]]).append(through)
        return waiting[EVERYBODY]

    def _limit_milli(self, path: TeamPath, kinds: tuple[NodeKind, ...]) -> int | None:
        """What a team may use of these nodes; None if it has no limit there, or may use nothing of them."""
        limit = self._limits[path]
        types = list(dict.fromkeys(kind.gpu_type for kind in kinds))
        known = [limit[ANY_TYPE]] if ANY_TYPE in limit else []
        known += [sum(limit[kind] for kind in types)] if all(kind in limit for kind in types) else []
        return min(known, default=0) or None

    def _pass(
        self,
        inflow: Iterable[Steps],
        team: TeamPath,
        kinds: tuple[NodeKind, ...],
        capacity_milli: int,
        places: Sequence[int],
    ) -> Steps:
        """Let a demand pass one limit or part of the cluster. Notes an overload that lasts; returns what passes."""
        steps = merged(inflow)
        flow = Flow(steps, capacity_milli)
        stretches = flow.lasting()
        if stretches:
            unit_milli = GPU_MILLI if team != EVERYBODY else kinds[0].gpus * GPU_MILLI
            work = sum(self._jobs[place].gpu_milli * self._run_ms(place) for place in places)
            overload = Overload(
                team=team,
                kinds=kinds,
                capacity_milli=capacity_milli,
                jobs=len(places),
                load=round(work / (capacity_milli * self._span_ms), 4) if self._span_ms else None,
                stretches=stretches,
                enough_milli=enough_milli(steps, capacity_milli, unit_milli),
                curve=_curve(flow),
            )
            self.found.append(overload)
            waits_ms = flow.waits_ms([self._jobs[place].submit_ms for place in places])
            for place, wait_ms in zip(places, waits_ms, strict=True):
                self.wait_ms[place] += wait_ms
        return flow.served

    def _steps(self, place: int) -> Steps:
        job = self._jobs[place]
        return [(job.submit_ms, job.gpu_milli), (job.submit_ms + self._run_ms(place), -job.gpu_milli)]

    def _run_ms(self, place: int) -> int:
        job = self._jobs[place]
        return job.run_ms if not job.run_ms_by_type else round(job.run_ms / mean_speed(job, self._gpus_by_type))


def _kinds(nodes: Iterable[Node]) -> tuple[NodeKind, ...]:
    counts = Counter((node.pool, node.gpu_type, node.gpus) for node in nodes if node.gpus)
    kinds = [
        NodeKind(pool=pool, gpu_type=gpu_type, gpus=gpus, nodes=count)
        for (pool, gpu_type, gpus), count in counts.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: (-kind.gpus * kind.nodes, kind.pool, kind.gpu_type, kind.gpus)))


def _gpus_by_type(kinds: Iterable[NodeKind]) -> GpusByType:
    counts: Counter[GpuType] = Counter()
    for kind in kinds:
        counts[kind.gpu_type] += kind.gpus * kind.nodes
    return tuple(sorted(counts.items()))


def _milli(kinds: Iterable[NodeKind]) -> int:
    return sum(kind.gpus * kind.nodes for kind in kinds) * GPU_MILLI


def _curve(flow: Flow) -> tuple[CurvePoint, ...]:
    """Demand and backlog in steps of equal length, until all is over."""
    levels = flow.levels
    begin_ms, end_ms = levels[0].at_ms, levels[-1].at_ms
    step_ms = max(1, -(-(end_ms - begin_ms) // CURVE_STEPS))
    points, place = [], 0
    behind_ms = flow.waits_ms(range(begin_ms + step_ms, end_ms + step_ms, step_ms))
    for step, at_ms in enumerate(range(begin_ms, end_ms, step_ms)):
        demand, now_ms = 0, at_ms
        while now_ms < at_ms + step_ms:
            while place + 1 < len(levels) and levels[place + 1].at_ms <= now_ms:
                place += 1
            next_ms = levels[place + 1].at_ms if place + 1 < len(levels) else at_ms + step_ms
            until_ms = min(next_ms, at_ms + step_ms)
            demand += levels[place].demand_milli * (until_ms - now_ms)
            now_ms = until_ms
        points.append(CurvePoint(at_ms=at_ms, demand_milli=demand // step_ms, behind_ms=behind_ms[step]))
    return tuple(points)
