"""The cheapest set of victims that makes room for a gang inside one domain.

Domains are compared by an estimate first, and only the most promising ones are worked out on a scratch capacity.
Afterwards victims that turn out not to be needed are pruned, the most expensive first: no victim is superfluous.
"""

from collections.abc import Iterable, Iterator

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.gang import Choice, Gang
from muster.core.cluster.slots import SlotView
from muster.core.planning.displacing.candidates import Candidates
from muster.core.planning.displacing.proposals import Proposal
from muster.core.planning.displacing.room_search import RoomSearch
from muster.core.planning.displacing.victim_tally import VictimTally, borrowers_first
from muster.core.planning.displacing.victims import Victim
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import fits, needed_in
from muster.model.ids import JobId, TeamPath
from muster.model.job import WaitingJob
from muster.model.limits import DOMAINS_TRIED


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
        start, end = self._capacity.tree.span(level, domain)
        nodes = dict.fromkeys(
            node for index in range(len(self._gang.parts)) for _, _, node in self._priced_nodes(index, start, end)
        )
        tally = self._tally()
        proposal = self._of_the_first(self._offered(nodes), tally)
        if proposal is None and tally.has_refused:
            proposal = self._of_the_largest(self._offered(nodes), range(start, end))
        return proposal if proposal is not None and proposal.victims else None

    def _offered(self, nodes: Iterable[int]) -> Iterator[Victim]:
        """The victims on one node after another. Most searches end before the last node is looked at."""
        for node in nodes:
            yield from self._candidates.victims(node)

    def _of_the_first(self, offered: Iterable[Victim], tally: VictimTally) -> Proposal | None:
        """Victims leave in this order, as far as the tally admits them, until the gang fits."""
        mark, proposal = self._capacity.mark(), None
        if self._make_leave(offered, tally):
            chosen = list(tally.chosen.values())
            dearest_first = sorted(chosen, key=lambda victim: (-victim.cost, victim.job.id))
            proposal = self._without_superfluous(chosen, dearest_first)
        self._capacity.rollback(mark)
        return proposal

    def _make_leave(self, offered: Iterable[Victim], tally: VictimTally) -> bool:
        for victim in offered:
            if not tally.admits(victim):
                continue
            for superseded in tally.add(victim):
                self._capacity.take(superseded.footprint)
            self._capacity.give(victim.footprint)
            if self._fits():
                return True
        return False

    def _of_the_largest(self, offered: Iterable[Victim], domain: range) -> Proposal | None:
        """The same with those that free most first, for where cheap victims used up what may be taken from a team.

        Few large victims stay within a rate limit. What a team borrows is judged at the end, of those who leave.
        """
        found = self._of_the_first(sorted(offered, key=lambda each: _most_freed(each, domain)), self._tally(lent=False))
        if found is None:
            return None
        victims = tuple(sorted(found.victims, key=borrowers_first))
        return found._replace(victims=victims) if self._tally().admits_all(victims) else None

    def _tally(self, *, lent: bool = True) -> VictimTally:
        return VictimTally(self._draft, self._job.spec.team, self._entitled, lent=lent)


def _least_harm(proposal: Proposal) -> tuple[int, int, int]:
    """By cost, then by how many victims report checkpoints, so that no job gains by hiding them."""
    honest = sum(victim.reports for victim in proposal.victims)
    return proposal.cost, honest, len(proposal.victims)


def _most_freed(victim: Victim, domain: range) -> tuple[bool, int, int, JobId]:
    """Workers that jobs can spare come before whole jobs, then what frees most inside the domain."""
    freed_milli = sum(use.gpu_milli for use in victim.footprint if use.node in domain)
    return not victim.workers, -freed_milli, victim.cost, victim.job.id
