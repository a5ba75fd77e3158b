"""What is used and wanted at one moment, as whole numbers that change with each event.

A job counts for the pool of the node where a worker sits, for its tier and for its own team. What a team borrows is
counted with the teams below it, because guarantees are.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum

from muster.core.lifecycle import occupied
from muster.core.lifecycle.waiting import awaits_gpus
from muster.model.ids import GpuType, NodeName, PoolName, TeamPath
from muster.model.job import Job
from muster.model.node import Node
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Rules
from muster.model.team import ANY_TYPE, Team, ancestors
from muster.views.borrowing import borrowed


class Gauge(StrEnum):
    """What is measured, and of what."""

    COVERED = "covered"
    """Always one: its sum over time says how long the rest was watched."""
    GPUS = "gpus"
    """GPU thousandths that a pool has."""
    OUT = "out"
    """GPU thousandths of a pool that take no work: bad, or on a node that takes none."""
    USED = "used"
    """GPU thousandths in use, by pool and tier."""
    WAITING = "waiting"
    """Jobs that wait, by tier."""
    STARTS = "starts"
    """Jobs that started for the first time, by tier."""
    WAITED = "waited"
    """How long they had waited, in milliseconds, by tier."""
    LONGEST_WAIT = "longest"
    """The longest of these waits."""
    TEAM_USED = "team_used"
    """GPU thousandths in use by the jobs of one team, without the teams below it."""
    TEAM_BORROWED = "team_borrowed"
    """GPU thousandths that a team, with the teams below it, uses above its guarantee."""
    TEAM_WAITING = "team_waiting"
    """Jobs of one team that wait, without the teams below it."""
    TEAM_COST = "team_cost"
    """GPU thousandths in use by the jobs of one team, times the price of their pool in thousandths."""


Key = tuple[str, str, str]
"""A measure, and what it is of: a pool and a tier, or a tier, or a team. What is not needed is empty."""

COVERED: Key = (Gauge.COVERED, "", "")


class Gauges:
    """The present numbers. Those that are zero are left out."""

    def __init__(self, jobs: Iterable[Job], nodes: Mapping[NodeName, Node], rules: Rules) -> None:
        self._jobs = {job.id: job for job in jobs if _counts(job)}
        self._nodes = dict(nodes)
        self._rules = rules
        self._count()

    def move(self, before: Job | None, after: Job) -> None:
        """A job has changed."""
        if before is not None and _standing(before) == _standing(after):
            return
        if (counted := self._jobs.pop(after.id, None)) is not None:
            self._add(counted, -1)
        if _counts(after):
            self._jobs[after.id] = after
            self._add(after, 1)

    def use_nodes(self, nodes: Mapping[NodeName, Node]) -> None:
        """These are all nodes from now on."""
        self.change_nodes({**dict.fromkeys(self._nodes.keys() - nodes.keys()), **nodes})

    def change_nodes(self, changed: Mapping[NodeName, Node | None]) -> None:
        """Nodes came, went (None) or changed their state or their place. All others are as they were."""
        jobs = self._jobs_on({name for name, node in changed.items() if _place(self._nodes.get(name)) != _place(node)})
        for job in jobs:
            self._add(job, -1)
        for name, node in changed.items():
            if (before := self._nodes.pop(name, None)) is not None:
                self._equip(before, -1)
            if node is not None:
                self._nodes[name] = node
                self._equip(node, 1)
        for job in jobs:
            self._add(job, 1)

    def _jobs_on(self, nodes: set[NodeName]) -> list[Job]:
        """The jobs that sit on these nodes. Nodes seldom move, so that there is no index of it."""
        if not nodes:
            return []
        return [job for job in self._jobs.values() if any(worker.node in nodes for worker in occupied(job))]

    def use_rules(self, rules: Rules) -> None:
        """Prices or guarantees may be different."""
        self._rules = rules
        self._count()

    def _count(self) -> None:
        """Count everything anew."""
        self.now: Counter[Key] = Counter({COVERED: 1})
        self._used: defaultdict[TeamPath, Counter[GpuType]] = defaultdict(Counter)
        self._teams = {team.path: team for team in self._rules.teams}
        self._prices = {pool.name: pool.price_milli for pool in self._rules.pools}
        for node in self._nodes.values():
            self._equip(node, 1)
        for job in self._jobs.values():
            self._add(job, 1)

    def _equip(self, node: Node, sign: int) -> None:
        out = len(node.bad_gpus) if node.state.takes_work else node.gpus
        self._change((Gauge.GPUS, node.pool, ""), sign * node.gpus * GPU_MILLI)
        self._change((Gauge.OUT, node.pool, ""), sign * out * GPU_MILLI)

    def _add(self, job: Job, sign: int) -> None:
        tier, team = job.spec.tier, job.spec.team
        if awaits_gpus(job):
            self._change((Gauge.WAITING, tier, ""), sign)
            self._change((Gauge.TEAM_WAITING, team, ""), sign)
        by_place: Counter[tuple[PoolName, GpuType]] = Counter()
        for worker in occupied(job):
            by_place[_place(self._nodes.get(worker.node))] += worker.gpu_milli
        for (pool, gpu_type), milli in by_place.items():
            price_milli = self._prices.get(pool, GPU_MILLI)
            self._change((Gauge.USED, pool, tier), sign * milli)
            self._change((Gauge.TEAM_USED, team, ""), sign * milli)
            self._change((Gauge.TEAM_COST, team, ""), sign * milli * price_milli)
            for each in ancestors(team):
                self._used[each][gpu_type] += sign * milli
                self._used[each][ANY_TYPE] += sign * milli
        if by_place:
            self._lend(team)

    def _lend(self, team: TeamPath) -> None:
        """Set what a team and the teams above it borrow now."""
        for each in ancestors(team):
            used = {gpu_type: milli for gpu_type, milli in self._used[each].items() if milli}
            above = borrowed(self._teams.get(each) or Team(path=each), used).get(ANY_TYPE, 0)
            key = (Gauge.TEAM_BORROWED, each, "")
            self._change(key, above - self.now[key])

    def _change(self, key: Key, by: int) -> None:
        self.now[key] += by
        if not self.now[key]:
            del self.now[key]


def waited(before: Job | None, after: Job) -> int | None:
    """How long a job had waited, in milliseconds, if this is its first start; None otherwise."""
    if after.first_started_ms is None or (before is not None and before.first_started_ms is not None):
        return None
    return max(after.first_started_ms - after.submitted_ms, 0)


def _place(node: Node | None) -> tuple[PoolName, GpuType]:
    return (PoolName(""), GpuType("")) if node is None else (node.pool, node.gpu_type)


def _counts(job: Job) -> bool:
    return job.state.holds_resources or awaits_gpus(job)


def _standing(job: Job) -> tuple[object, ...]:
    """All of a job that the numbers depend on."""
    return (job.workers, job.leaving, job.next_gang, job.spec.tier, job.spec.team, awaits_gpus(job))
