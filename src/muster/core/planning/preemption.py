"""One pipeline for tiers and for quota reclaim: who may ask for victims, and what is done with them.

A job that was itself preempted and waits again never asks, so one preemption cannot cause another, and there is no
cycle. Elastic jobs are shrunk before anybody is stopped.
"""

from collections.abc import Callable

from muster.core.cluster.capacity import Capacity
from muster.core.gang import Choice
from muster.core.planning.desk import Desk
from muster.core.planning.placing import fits
from muster.core.planning.resizing import shrink
from muster.core.planning.search import Candidates, Sacrifice, Search
from muster.core.planning.victims import Roster, Victim, leavers, shrinkable
from muster.core.queueing import JobClass
from muster.model.ids import TeamPath
from muster.model.job import WaitingJob
from muster.model.limits import PREEMPTORS_PER_CYCLE
from muster.model.plan import Basis, Eviction

_Key = tuple[str, int, tuple[TeamPath, ...]]
"""What a class may ask for: its tier, and which of its teams would stay inside their guarantee."""


class Preemption:
    """Makes room for blocked gangs in one cycle. What is found out for one gang is kept for those with equal rights."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._roster: Roster | None = None
        self._shrinkable: list[Victim] | None = None
        self._leaving: Candidates | None = None
        self._candidates: dict[_Key, Candidates] = {}
        self._hopeless: dict[tuple[_Key, int, int, int], bool] = {}

    @property
    def roster(self) -> Roster:
        """All jobs that may be stopped; made when first needed."""
        if self._roster is None:
            self._roster = Roster(self._desk)
        return self._roster

    def make_room(self, group: JobClass, job: WaitingJob, widest: int) -> bool:
        """Find victims for a blocked gang; true when some were found and the gang was promised their GPUs."""
        desk = self._desk
        if desk.preemptors >= PREEMPTORS_PER_CYCLE:
            return False
        for rights in (self._shrinking, self._stopping):
            for number, choice in enumerate(group.gang.choices):
                sacrifice = self._cheapest(rights, group, number, choice, widest)
                if sacrifice is not None:
                    self._carry_out(group, job, choice, sacrifice)
                    return True
        return False

    def is_hopeless(self, group: JobClass, *, reclaiming: bool) -> bool:
        """True when the class would not fit even if everybody left whom it may ask to leave.

        Without `reclaiming` only what its tier may ask for counts: then it holds for every team that wants the same
        gang. Cheap and never wrong in this direction: it is what lets a cycle pass over most of a long queue.
        """
        if self._desk.preemptors >= PREEMPTORS_PER_CYCLE:
            return True
        for number, choice in enumerate(group.gang.choices):
            if not self._cannot_help(self._shrinking(group, choice), group, number, choice):
                return False
            stopping = self._stopping(group, choice) if reclaiming else self._stopping_below(group, ())
            if not self._cannot_help(stopping, group, number, choice):
                return False
        return True

    def _cannot_help(
        self, rights: "tuple[_Key, list[Victim]] | None", group: JobClass, number: int, choice: Choice
    ) -> bool:
        if rights is None:
            return True
        known = (rights[0], group.gang_number, number, group.gang.widest)
        if known not in self._hopeless:
            candidates = self._candidates_for(*rights)
            if fits(candidates.empty, group.gang, choice, group.gang.widest):
                return False
            self._hopeless[known] = True
        return True

    def _candidates_for(self, key: _Key, victims: list[Victim]) -> Candidates:
        departed = self._departed()
        candidates = self._candidates.get(key)
        if candidates is None:
            candidates = self._candidates[key] = Candidates(departed, victims)
        candidates.catch_up()
        return candidates

    def _departed(self) -> Capacity:
        """What will be free and not promised once everybody who was told to leave is gone."""
        desk = self._desk
        if self._leaving is None:
            self._leaving = Candidates(desk.horizons.closed, leavers(desk))
        self._leaving.catch_up()
        return self._leaving.empty

    def _cheapest(
        self,
        rights: "Callable[[JobClass, Choice], tuple[_Key, list[Victim]] | None]",
        group: JobClass,
        number: int,
        choice: Choice,
        widest: int,
    ) -> Sacrifice | None:
        entitled = rights(group, choice)
        if entitled is None:
            return None
        known = (entitled[0], group.gang_number, number, widest)
        if known in self._hopeless:
            return None
        candidates = self._candidates_for(*entitled)
        if not self._quota_allows(group, choice):
            return None
        sacrifice = Search(
            capacity=self._departed(),
            candidates=candidates,
            gang=group.gang,
            choice=choice,
            widest=widest,
            team=group.team,
            ledger=self._desk.projected,
            allowance=self.roster.may_take_from,
        ).cheapest()
        if sacrifice is None:
            self._hopeless[known] = True
        return sacrifice

    def _quota_allows(self, group: JobClass, choice: Choice) -> bool:
        desk = self._desk
        return (
            desk.ledger.breach(group.team, choice.demand) is None
            and desk.breaks_quota_promise(group.team, choice, desk.now_ms + group.limit_ms) is None
        )

    def _shrinking(self, _group: JobClass, _choice: Choice) -> tuple[_Key, list[Victim]] | None:
        """Anybody's smallest gang comes before what elastic jobs have beyond theirs."""
        spare = self._spare_workers()
        return (("shrink", 0, ()), spare) if spare else None

    def _spare_workers(self) -> list[Victim]:
        """What elastic jobs have beyond their smallest size and have not been asked for yet."""
        desk = self._desk
        if self._shrinkable is None:
            self._shrinkable = shrinkable(desk) if desk.policy.elastic else []
        return self._shrinkable

    def _stopping(self, group: JobClass, choice: Choice) -> tuple[_Key, list[Victim]] | None:
        """Lower tiers, if the tier preempts; borrowers, while the team is inside its guarantee."""
        ledger = self._desk.projected
        return self._stopping_below(
            group, tuple(team for team in ledger.chain(group.team) if ledger.within_guarantee(team, choice.demand))
        )

    def _stopping_below(self, group: JobClass, entitled: tuple[TeamPath, ...]) -> tuple[_Key, list[Victim]] | None:
        desk = self._desk
        preempts = desk.setting.tiers[group.tier].preempts
        if not desk.policy.preemption or not group.may_preempt or not (preempts or entitled):
            return None
        key: _Key = ("stop", group.tier, entitled)
        if key in self._candidates:
            return key, []
        victims = self.roster.below(group.tier) if preempts else []
        if entitled:
            lower = {victim.job.id: None for victim in victims}
            borrowers = self.roster.borrowers(group.tier, group.team, entitled)
            victims = victims + [victim for victim in borrowers if victim.job.id not in lower]
        return key, victims + self._spare_workers() if victims else []

    def _carry_out(self, group: JobClass, job: WaitingJob, choice: Choice, sacrifice: Sacrifice) -> None:
        """Tell the victims, and promise the gang their GPUs for when they are gone."""
        desk = self._desk
        desk.preemptors += 1
        for victim in sacrifice.victims:
            self.roster.leave(victim.job.id)
            for candidates in self._candidates.values():
                candidates.without(victim.job.id)
            if not victim.workers:
                desk.evict(Eviction(job=victim.job.id, for_job=job.id, why=victim.why, lost_gpu_ms=victim.lost_gpu_ms))
            if self._leaving is not None:
                self._leaving.add(victim)
        shrink(desk, [victim for victim in sacrifice.victims if victim.workers], job.id)
        gone = {victim.job.id: None for victim in sacrifice.victims}
        self._shrinkable = [victim for victim in self._spare_workers() if victim.job.id not in gone]
        desk.promise(
            job.id,
            group.team,
            group.tier,
            group.limit_ms,
            choice,
            sacrifice.seating,
            self._gone_ms(sacrifice),
            Basis.DEPARTURES,
        )

    def _gone_ms(self, sacrifice: Sacrifice) -> int:
        """When everybody who is in the way has left."""
        desk = self._desk
        times = [desk.now_ms + desk.setting.grace_ms(victim.job.spec) for victim in sacrifice.victims]
        for use in sacrifice.seating.footprint:
            for job_id, _ in desk.snapshot.uses_on(use.node):
                job = desk.snapshot.running[job_id]
                if job_id in desk.leaving or job.leaving_by_ms is not None:
                    times.append(desk.end_ms(job))
                elif job_id in desk.resizes:
                    times.append(desk.now_ms + desk.setting.grace_ms(job.spec))
        return max(times, default=desk.now_ms)
