"""Victims to choose from, by the nodes that they would free.

A victim is looked at when a search comes to one of its nodes: most nodes of a cluster are never searched. What could be
free if all candidates left is kept from plan to plan (`core.cluster.emptied`).
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.emptied import Emptied, KeptEmptied
from muster.core.cluster.node_use import NodeUse
from muster.core.planning.displacing.victims import Victim
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId
from muster.model.job import RunningJob
from muster.model.resources import GPU_MILLI

_Offer = tuple[int, bool, JobId, bool, int, int, RunningJob | Victim]
"""What one job would free on one node: its cost, four fields that decide between equal costs, and the GPU thousandths
it has there. The last field is the job, or the workers of it that would go.

At equal cost jobs without checkpoint reports come first, then the id decides. An elastic job comes before its workers,
and of these the one with the highest rank comes first."""

Spare = dict[int, list[Victim]]
"""Workers that elastic jobs could give up, by node."""


class MayAsk(Protocol):
    """Who may be asked to leave."""

    def takes(self, job: RunningJob) -> bool:
        """True when a job may be asked."""

    def cost(self, job: RunningJob) -> int | None:
        """What it costs if a job leaves; None when it may not be asked."""

    def victim(self, job: RunningJob, cost: int) -> Victim:
        """A job that may be asked as a victim."""


class Candidates:
    """Shared by all gangs with the same rights."""

    def __init__(
        self, draft: PlanDraft, capacity: Capacity, asked: MayAsk | None, spare: Spare, rights: object | None = None
    ) -> None:
        """With `rights`, which stand for `asked` in every plan, what is found out is kept for the next plan."""
        self._draft = draft
        self._snapshot = draft.snapshot
        self._capacity = capacity
        self._asked = asked
        self._spare = spare
        self._offers: dict[int, list[_Offer]] = {}
        self._prices: dict[int, dict[int, int]] = {}
        self._kept = self._find_kept(rights)

    @property
    def empty(self) -> Capacity:
        """The capacity if every candidate were gone: a gang that does not fit here cannot be helped."""
        return self._kept.emptied.capacity

    def _find_kept(self, rights: object | None) -> KeptEmptied:
        snapshot, draft = self._snapshot, self._draft
        started_by_ms = draft.now_ms - draft.policy.min_runtime_ms
        kept = snapshot.emptied.find(rights, snapshot.capacity) if rights is not None else None
        if kept is None or kept.started_by_ms > started_by_ms:
            kept = KeptEmptied(Emptied(self._capacity), snapshot.capacity)
            nodes: Iterable[int] = range(len(snapshot.setting.tree.nodes))
        else:
            nodes = self._outdated(kept, started_by_ms)
        told = (*draft.evictions, *draft.resizes)
        kept.struck = {use.node: None for job_id in told for use in snapshot.footprints[job_id]}
        kept.started_by_ms, kept.changed = started_by_ms, len(snapshot.emptied.changed)
        kept.emptied.renew(dict.fromkeys((*nodes, *kept.struck)), self._freed_on)
        if rights is not None:
            snapshot.emptied.keep(rights, kept)
        return kept

    def _outdated(self, kept: KeptEmptied, started_by_ms: int) -> dict[int, None]:
        """Nodes on which something changed since the last plan, or where time alone made a job a candidate."""
        snapshot = self._snapshot
        changed = snapshot.timetable.began_between(kept.started_by_ms, started_by_ms)
        changed += [job_id for job_id in snapshot.emptied.changed[kept.changed :] if job_id in snapshot.running]
        nodes = dict.fromkeys(kept.emptied.follow(self._capacity))
        # Whether an elastic job may give up workers depends on all of its nodes.
        changed += [job_id for node in nodes for job_id, _ in snapshot.uses_on(node) if job_id in snapshot.elastic]
        nodes.update(kept.struck)
        nodes.update({use.node: None for job_id in changed for use in snapshot.footprints[job_id]})
        return nodes

    def _freed_on(self, node: int) -> list[NodeUse]:
        """What all candidates use on a node. A job that could leave or shrink is counted once, as gone."""
        running, asked = self._snapshot.running, self._asked
        uses = self._snapshot.uses_on(node)
        spare = self._spare.get(node, ())
        if asked is None:
            return [victim.use_on(node) for victim in spare]
        stopped = [use for job_id, use in uses if asked.takes(running[job_id])]
        return stopped + [victim.use_on(node) for victim in spare if not asked.takes(victim.job)]

    def victims(self, node: int) -> list[Victim]:
        """The jobs that could free something on one node, cheapest first."""
        found: list[Victim] = []
        for cost, _, _, _, _, _, source in self._offered_on(node):
            if isinstance(source, Victim):
                found.append(source)
            elif self._asked is not None:
                found.append(self._asked.victim(source, cost))
        return found

    def _offered_on(self, node: int) -> list[_Offer]:
        """What could be freed on one node, cheapest first."""
        known = self._offers.get(node)
        if known is None:
            known = self._offers[node] = [_workers_offered(victim, node) for victim in self._spare.get(node, ())]
            if self._asked is not None:
                known += self._jobs_offered(self._asked, node)
            known.sort()
        return known

    def _jobs_offered(self, asked: MayAsk, node: int) -> Iterator[_Offer]:
        running = self._snapshot.running
        for job_id, use in self._snapshot.uses_on(node):
            job = running[job_id]
            cost = asked.cost(job)
            if cost is not None:
                yield cost, job.checkpointed_ms is not None, job_id, False, 0, use.gpu_milli, job

    def price(self, node: int, wanted_milli: int) -> int:
        """What freeing this much of one node costs, taking the cheapest jobs first."""
        prices = self._prices.setdefault(node, {})
        known = prices.get(wanted_milli)
        if known is not None:
            return known
        state = self._capacity.states.states[self._capacity.number[node]]
        missing = wanted_milli - state.whole * GPU_MILLI
        cost = 0
        for offer in self._offered_on(node) if missing > 0 else ():
            if missing <= 0:
                break
            cost += offer[0]
            missing -= offer[5]
        prices[wanted_milli] = cost
        return cost

    def without(self, job_id: JobId) -> None:
        """A job was told to leave or to shrink: it is no candidate any more."""
        nodes = [use.node for use in self._snapshot.footprints[job_id]]
        for node in nodes:
            self._prices.pop(node, None)
            self._offers.pop(node, None)
            self._kept.struck[node] = None
        self._kept.emptied.renew(nodes, self._freed_on)

    def catch_up(self) -> None:
        """Take over what was started or promised since the last call."""
        touched = self._kept.emptied.touched()
        if touched:
            for node in touched:
                self._prices.pop(node, None)
            self._kept.emptied.renew(touched, self._freed_on)


def by_node(victims: Iterable[Victim]) -> Spare:
    """Workers that could be given up, by node."""
    found: Spare = {}
    for victim in victims:
        for use in victim.footprint:
            found.setdefault(use.node, []).append(victim)
    return found


def _workers_offered(victim: Victim, node: int) -> _Offer:
    job, milli = victim.job, victim.use_on(node).gpu_milli
    return victim.cost, victim.reports, job.id, True, -victim.workers[0].rank, milli, victim
