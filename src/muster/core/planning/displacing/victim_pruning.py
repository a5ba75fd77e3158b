"""A second look at all victims of a cycle: jobs that need not leave after all may stay.

The victims of a later preemptor may have made those of an earlier one superfluous. A gang that accepts several GPU
types may need fewer victims with another choice than with the one that was found first.
"""

from typing import NamedTuple

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.footprint import footprint_of
from muster.core.cluster.gang import Choice, running_gang
from muster.core.cluster.node_use import Footprint
from muster.core.cluster.tenancy import UNSEEN
from muster.core.order.quota import account_of
from muster.core.planning.displacing.preemption import Preemption
from muster.core.planning.displacing.proposals import Proposal, carry_out
from muster.core.planning.displacing.room_search import RoomSearch
from muster.core.planning.displacing.shrinking import keep_after_all
from muster.core.planning.draft import PlanDraft, PlannedPromise
from muster.core.planning.placing.placement import Seating, fits
from muster.model.ids import JobId
from muster.model.job import Placement, beyond
from muster.model.limits import PRUNING_TRIES
from muster.model.plan import Basis, Resize, Why


class _Asked(NamedTuple):
    """A job that is told to leave, or to give up some workers, for another job."""

    lost_gpu_ms: int
    job: JobId
    for_job: JobId
    stays: Footprint
    """What it would go on using if it stayed."""
    workers: Placement = ()
    """The workers that are given up. Empty when the whole job leaves."""


def prune_victims(draft: PlanDraft, preemption: Preemption) -> None:
    """Let victims stay that are not needed, those that lose most first, until all are needed or enough was tried."""
    pruning, tries = _Pruning(draft, preemption), PRUNING_TRIES
    spared = pruning.may_spare_any()
    while spared:
        spared = False
        for asked in pruning.all_asked():
            if not tries:
                return
            tries -= 1
            spared = pruning.spares(asked) or spared


class _Pruning:
    """Lets one victim after another stay, if the gangs that count on its GPUs find other seats."""

    def __init__(self, draft: PlanDraft, preemption: Preemption) -> None:
        self._draft = draft
        self._preemption = preemption
        self._queue = draft.snapshot.queue

    def may_spare_any(self) -> bool:
        """False for the result of one search with a single choice: the search has already pruned what it could."""
        preemptors = {asked.for_job: None for asked in self.all_asked()}
        gangs = [self._queue.class_of[job_id].gang for job_id in preemptors if job_id in self._draft.promises]
        return len(preemptors) > 1 or any(len(gang.choices) > 1 for gang in gangs)

    def all_asked(self) -> list[_Asked]:
        """All jobs that leave or shrink for another job in this plan, those that lose most first."""
        footprints = self._draft.snapshot.footprints
        found = [
            _Asked(eviction.lost_gpu_ms, job_id, eviction.for_job, footprints[job_id])
            for job_id, eviction in self._draft.evictions.items()
            if eviction.why in (Why.TIER, Why.RECLAIM, Why.TURN)
        ]
        for resize in self._draft.resizes.values():
            if resize.for_job is not None:
                found += self._shrunk(resize, resize.for_job)
        return sorted(found, key=lambda asked: (-asked.lost_gpu_ms, asked.job))

    def _shrunk(self, resize: Resize, for_job: JobId) -> list[_Asked]:
        """What an elastic job gives up, worker by worker, or group by group where workers form groups."""
        job, setting = self._draft.snapshot.running[resize.job], self._draft.setting
        role, gone = job.spec.elastic_role, beyond(job.workers, resize.workers)
        size = next(part.group for part in running_gang(job, setting).parts if role and part.role == role.name)
        groups = [gone[at : at + size] for at in range(0, len(gone), size)]
        return [_Asked(0, job.id, for_job, footprint_of(job.spec, each, setting.tree, UNSEEN), each) for each in groups]

    def spares(self, asked: _Asked) -> bool:
        """Seat the preemptor without a victim, alone or with others that count on its GPUs; or change nothing."""
        draft = self._draft
        promise = draft.promises.get(asked.for_job)
        is_still_asked = asked.job in (draft.resizes if asked.workers else draft.evictions)
        if promise is None or not self._is_preemptors(promise) or not is_still_asked:
            return False
        if self._makes_room_in_a_guarantee(asked):
            return False
        nodes = {use.node: None for use in asked.stays}
        beside = [
            other
            for other in draft.promises.values()
            if other is not promise
            and other.terms.made_ms == draft.now_ms
            and any(use.node in nodes for use in other.footprint)
        ]
        others = [other for other in beside if self._is_preemptors(other)]
        # A running job that moves keeps its new place: its promise cannot be made again, as it does not wait.
        resting = [other for other in beside if other.terms.basis is Basis.LIMITS]
        return self._seat_anew(asked, [promise], resting) or (
            bool(others) and self._seat_anew(asked, [promise, *others], resting)
        )

    def _is_preemptors(self, promise: PlannedPromise) -> bool:
        """True for a promise made to a preemptor: while no job has left for it, it may still sit somewhere else."""
        return promise.terms.basis is Basis.DEPARTURES and promise.terms.job in self._queue.class_of

    def _makes_room_in_a_guarantee(self, asked: _Asked) -> bool:
        """True when a team may stop another victim only because this one, of the same branch of the tree, leaves."""
        draft, snapshot, promises = self._draft, self._draft.snapshot, self._draft.promises
        reclaimed = [each for each in draft.evictions.values() if each.why is Why.RECLAIM and each.job != asked.job]
        if not reclaimed:
            return False
        staying = snapshot.ledger.fork()
        for job_id in (*snapshot.departing, *draft.leaving):
            if job_id != asked.job:
                staying.charge(account_of(snapshot.running[job_id]), snapshot.demands[job_id], sign=-1)
        chain = staying.chain(account_of(snapshot.running[asked.job]))
        for promise, victim in [(promises[each.for_job], snapshot.running[each.job]) for each in reclaimed]:
            at = staying.branches(promise.account, account_of(victim))
            if at is not None and at[0] in chain and not staying.within_guarantee(at[0], promise.choice.demand):
                return True
        return False

    def _seat_anew(self, asked: _Asked, moving: list[PlannedPromise], resting: list[PlannedPromise]) -> bool:
        """Promise the moving gangs other seats, one after another, and let the victim stay; or change nothing.

        `resting` are this cycle's other promises on the victim's nodes. They were made with the victim gone and have to
        be made again.
        """
        draft = self._draft
        if not self._could_sit(asked, moving, resting):
            return False
        order = list(draft.promises)
        for other in (*moving, *resting):
            draft.retract(other.terms.job)
        seated: list[PlannedPromise] = []
        for other in moving:
            found = self._seat_beside(asked, other)
            if found is None:
                break
            seated.append(other)
            carry_out(draft, found, other.terms.moved_because)
        if len(seated) < len(moving):
            for other in seated:
                draft.retract(other.terms.job)
            for other in (*moving, *resting):
                draft.restore(other)
            draft.promises = {job_id: draft.promises[job_id] for job_id in order}
            return False
        self._let_stay(asked, moving)
        self._preemption.unpromised += [other.terms.job for other in resting]
        return True

    def _let_stay(self, asked: _Asked, moved: list[PlannedPromise]) -> None:
        draft = self._draft
        if asked.workers:
            keep_after_all(draft, asked.job, asked.workers)
        else:
            draft.pardon(asked.job)
        self._preemption.forget_departures()
        for other in moved:
            # With the victim staying there may be no job to wait for any more.
            anew = draft.retract(other.terms.job)
            job, seating = self._queue.jobs[other.terms.job], Seating(anew.terms.workers, anew.footprint)
            start_ms = draft.gone_ms(seating.footprint)
            draft.promise(job, anew.choice, seating, start_ms, Basis.DEPARTURES, other.terms.moved_because)

    def _could_sit(self, asked: _Asked, moving: list[PlannedPromise], resting: list[PlannedPromise]) -> bool:
        """False when one of the gangs has no room even alone. Most tries end here, before any promise is touched."""
        scratch = self._preemption.departures.capacity()
        mark = scratch.mark()
        for other in (*moving, *resting):
            scratch.give(other.footprint)
        scratch.take(asked.stays)
        could = all(self._fits(scratch, other) for other in moving)
        scratch.rollback(mark)
        return could

    def _fits(self, scratch: Capacity, promise: PlannedPromise) -> bool:
        gang = self._preemption.gangs.of(self._queue.class_of[promise.terms.job]).gang
        ways = [choice for choice in gang.choices if not self._is_slower(choice, promise)]
        return any(fits(scratch, gang, choice, gang.widest) for choice in ways)

    def _seat_beside(self, asked: _Asked, promise: PlannedPromise) -> Proposal | None:
        """Seats for a gang whose promise was taken back, while a job stays that was to leave."""
        scratch = self._preemption.departures.capacity()
        if self._is_in_the_way(scratch, asked.stays):
            return None
        mark = scratch.mark()
        scratch.take(asked.stays)
        found = self._seat_somehow(asked, scratch, promise)
        scratch.rollback(mark)
        return found

    def _is_in_the_way(self, scratch: Capacity, stays: Footprint) -> bool:
        """True when another job was promised what would not come free."""
        return any(
            any(promise.terms.basis is Basis.DEPARTURES for _, (promise, _) in self._draft.promised_on(use.node))
            and not scratch.holds((use,))
            for use in stays
        )

    def _seat_somehow(self, asked: _Asked, scratch: Capacity, promise: PlannedPromise) -> Proposal | None:
        """Seats with the choice that was promised, or with another."""
        draft, job_id = self._draft, promise.terms.job
        group, job = self._queue.class_of[job_id], self._queue.jobs[job_id]
        gang = self._preemption.gangs.of(group).gang
        owed = bool(draft.projected.guaranteed_above(group.team))
        reclaims = any(
            entry.for_job == job_id and (owed or entry.why is Why.RECLAIM) and entry.job != asked.job
            for entry in draft.evictions.values()
        )
        for choice in dict.fromkeys((promise.choice, *gang.choices)):
            # Its team took back GPUs of one type. It may not be guaranteed as many of another.
            is_other = reclaims and choice.demand != promise.choice.demand
            if not is_other and not self._is_slower(choice, promise) and self._preemption.quota_allows(group, choice):
                proposal = RoomSearch(draft, scratch, job, gang, choice).without_victims()
                if proposal is not None:
                    return proposal
        return None

    def _is_slower(self, choice: Choice, promise: PlannedPromise) -> bool:
        """True for a choice that is slower than the one the gang was promised in a GPU swap."""
        return promise.terms.job in self._preemption.changing and choice.speed_milli < promise.choice.speed_milli
