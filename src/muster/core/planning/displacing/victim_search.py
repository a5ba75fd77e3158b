"""The cheapest set of victims that makes room for a gang inside one domain.

Domains are compared by an estimate first, and only the most promising ones are worked out on a scratch capacity.
Afterwards victims that turn out not to be needed are pruned, the most expensive first: no victim is superfluous.
"""

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.gang import Choice, Gang
from muster.core.cluster.slots import SlotView
from muster.core.order.quota import Ledger, account_of
from muster.core.planning.displacing.candidates import Candidates
from muster.core.planning.displacing.proposals import Proposal
from muster.core.planning.displacing.room_search import RoomSearch
from muster.core.planning.displacing.shrinking import spare_workers
from muster.core.planning.displacing.victims import PlannedDeparture, Victim, may_take_from, told_to_leave
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import fits, needed_in
from muster.model.ids import JobId, TeamPath
from muster.model.job import WaitingJob
from muster.model.limits import DOMAINS_TRIED
from muster.model.plan import Why


class VictimSearch(RoomSearch):
    """Finds the cheapest room for a gang among candidates."""

    def __init__(
        self,
        draft: PlanDraft,
        capacity: Capacity,
        candidates: Candidates,
        job: WaitingJob,
        gang: Gang,
        choice: Choice,
        entitled: tuple[TeamPath, ...] = (),
    ) -> None:
        super().__init__(draft, capacity, job, gang, choice)
        self._candidates = candidates
        self._entitled = entitled

    def cheapest(self) -> Proposal | None:
        """The cheapest way to make room in the domains tried, at the smallest level where that is possible."""
        if not fits(self._candidates.empty, self._gang, self._choice, self._widest):
            return None
        for level in range(self._capacity.tree.node_level, self._widest - 1, -1):
            found = [
                proposal
                for _, domain in sorted(self._estimates(level))[:DOMAINS_TRIED]
                if (proposal := self._in_domain(level, domain)) is not None
            ]
            if found:
                return min(found, key=_least_harm)
        return None

    def _views(self, capacity: Capacity) -> list[SlotView]:
        return [capacity.view(ask, part.group) for part, ask in zip(self._gang.parts, self._choice.asks, strict=True)]

    def _estimates(self, level: int) -> list[tuple[int, int]]:
        """(rough cost, domain) of every domain that could be made to fit."""
        views = self._views(self._candidates.empty)
        needed = [needed_in(view, part, level) for view, part in zip(views, self._gang.parts, strict=True)]
        domains = [domain for domain, count in enumerate(views[0].counts(level)) if count >= needed[0]]
        for view, wanted in zip(views[1:], needed[1:], strict=True):
            counts = view.counts(level)
            domains = [domain for domain in domains if counts[domain] >= wanted]
        if level == self._capacity.tree.node_level:
            wanted_milli = sum(
                part.workers * ask.gpu_milli for part, ask in zip(self._gang.parts, self._choice.asks, strict=True)
            )
            return [(self._candidates.price(node, wanted_milli), node) for node in domains]
        return [(self._rough_cost(level, domain), domain) for domain in domains]

    def _rough_cost(self, level: int, domain: int) -> int:
        """What freeing enough GPUs would cost if a victim could give up just the part that is needed."""
        start, end = self._capacity.tree.span(level, domain)
        cost = 0
        for index, part in enumerate(self._gang.parts):
            left = part.workers
            for price, slots, _ in self._priced_nodes(index, start, end):
                if left <= 0:
                    break
                cost += price * min(slots, left) // slots
                left -= slots
        return cost

    def _priced_nodes(self, index: int, start: int, end: int) -> list[tuple[int, int, int]]:
        """(price, slots, node) of the nodes in a range for one role, cheapest slot first."""
        part, ask = self._gang.parts[index], self._choice.asks[index]
        view = self._candidates.empty.view(ask, part.group)
        per_slot = view.group if view.group_level == self._capacity.tree.node_level else 1
        price = self._candidates.price
        priced = [
            (price(node, slots * ask.gpu_milli), slots, node)
            for node, count in enumerate(view.nodes[start:end], start)
            if count and (slots := min(count * per_slot, part.workers))
        ]
        priced.sort(key=lambda entry: (entry[0] // entry[1], entry[2]))
        return priced

    def _in_domain(self, level: int, domain: int) -> Proposal | None:
        """Work out one domain exactly. Leaves the scratch capacity as it was."""
        mark = self._capacity.mark()
        chosen = self._choose(level, domain)
        proposal = None
        if chosen is not None:
            dearest_first = sorted(chosen, key=lambda victim: (-victim.cost, victim.job.id))
            proposal = self._without_superfluous(chosen, dearest_first)
        self._capacity.rollback(mark)
        return proposal if proposal is not None and proposal.victims else None

    def _choose(self, level: int, domain: int) -> list[Victim] | None:
        """Free nodes of the domain one after another, cheapest first, until the gang fits."""
        start, end = self._capacity.tree.span(level, domain)
        tally = _Tally(self._draft, self._job.spec.team, self._entitled)
        nodes = dict.fromkeys(
            node for index in range(len(self._gang.parts)) for _, _, node in self._priced_nodes(index, start, end)
        )
        for node in nodes:
            for victim in self._candidates.victims(node):
                if not tally.admits(victim):
                    continue
                for superseded in tally.add(victim):
                    self._capacity.take(superseded.footprint)
                self._capacity.give(victim.footprint)
                if self._fits():
                    return list(tally.chosen.values())
        return None


def _least_harm(proposal: Proposal) -> tuple[int, int, int]:
    """By cost, then by how many victims report checkpoints, so that no job gains by hiding them."""
    honest = sum(victim.reports for victim in proposal.victims)
    return proposal.cost, honest, len(proposal.victims)


def only_as_borrower(ledger: Ledger, team: TeamPath, entitled: tuple[TeamPath, ...], victim: Victim) -> bool:
    """True when a team may stop this job only as long as the job's own team borrows.

    That holds when the team asks by its guarantee alone. Where guarantees come before tiers it also holds, whatever
    the tier, when the team is not inside its own guarantee. A job that is only moved costs its team nothing.
    """
    if victim.why in (Why.RECLAIM, Why.CONSOLIDATION):
        return victim.why is Why.RECLAIM
    branches = ledger.branches(team, victim.job.spec.team) if ledger.shelters else None
    return branches is not None and branches[0] not in entitled


class _Tally:
    """Keeps a choice of victims within the rules: rate limits, what is borrowed, what an elastic job can spare."""

    def __init__(self, draft: PlanDraft, team: TeamPath, entitled: tuple[TeamPath, ...]) -> None:
        self._draft = draft
        self._ledger = draft.projected.fork()
        self._team = team
        self._entitled = entitled
        self._told: dict[TeamPath, int] = {}
        self.chosen: dict[tuple[JobId, int], Victim] = {}
        """By job and first rank given up; -1 for a job that leaves as a whole."""

    def admits(self, victim: Victim) -> bool:
        """True when this victim may be chosen in addition to those chosen already."""
        job = victim.job
        if (job.id, -1) in self.chosen:
            return False
        if victim.workers:
            given_up = sum(len(other.workers) for other in self._given_up(victim))
            return given_up + len(victim.workers) <= spare_workers(job) and self._others_still_borrow(victim)
        if self._told.get(job.spec.team, 0) >= may_take_from(self._draft, job.spec.team):
            return False
        if only_as_borrower(self._ledger, self._team, self._entitled, victim):
            branches = self._ledger.branches(self._team, job.spec.team)
            return branches is not None and self._ledger.is_borrowing(branches[1], victim.demand)
        return True

    def add(self, victim: Victim) -> list[Victim]:
        """Choose a victim. Returns what it supersedes: workers given up by a job that now leaves as a whole."""
        job = victim.job
        superseded: list[Victim] = []
        if victim.workers:
            self.chosen[(job.id, victim.workers[0].rank)] = victim
        else:
            superseded = self._given_up(victim)
            for other in superseded:
                del self.chosen[(job.id, other.workers[0].rank)]
                self._ledger.charge(account_of(job), other.demand)
            self.chosen[(job.id, -1)] = victim
            self._told[job.spec.team] = self._told.get(job.spec.team, 0) + 1
        self._ledger.charge(account_of(job), victim.demand, sign=-1)
        return superseded

    def _others_still_borrow(self, shrunk: Victim) -> bool:
        """True when every job that leaves because its team borrows would still have to leave after this shrink.

        Shrinking comes before stopping: a team that gives up enough by shrinking keeps its other jobs.
        """
        told = told_to_leave(self._draft)
        told += [self._as_told(victim) for victim in self.chosen.values() if not victim.workers]
        if not any(each.reclaimed_for for each in told):
            return True
        before = self._ledger.fork()
        before.charge(shrunk.job.spec.team, shrunk.demand, sign=-1)
        for each in reversed(told):
            before.charge(each.team, each.demand)
            if each.reclaimed_for is not None:
                branches = before.branches(each.reclaimed_for, each.team)
                if branches is None or not before.is_borrowing(branches[1], each.demand):
                    return False
        return True

    def _as_told(self, victim: Victim) -> PlannedDeparture:
        borrows = only_as_borrower(self._ledger, self._team, self._entitled, victim)
        return PlannedDeparture(victim.job.spec.team, victim.demand, self._team if borrows else None)

    def _given_up(self, victim: Victim) -> list[Victim]:
        return [other for (job_id, rank), other in self.chosen.items() if job_id == victim.job.id and rank >= 0]
