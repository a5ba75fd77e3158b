"""One pipeline for tiers and for quota reclaim: who may ask for victims, and what is done with them.

A job that was itself preempted and waits again never asks, so one preemption cannot cause another, and there is no
cycle. Elastic jobs are shrunk before anybody is stopped.
"""

from muster.core.cluster.capacity import Capacity
from muster.core.gang import Choice
from muster.core.planning.claims import NOBODY, Claims, Rights
from muster.core.planning.desk import Desk
from muster.core.planning.placing import fits, place
from muster.core.planning.promises import quota_allows
from muster.core.planning.resizing import given_up, shrink
from muster.core.planning.search import Candidates, Sacrifice, Search
from muster.core.planning.turns import Turns, one_makes_room
from muster.core.planning.victims import (
    Told,
    Victim,
    as_leaver,
    leavers,
    may_take_from,
    shrinkable,
    told_to_leave,
    workers_of,
)
from muster.core.queueing import FRESH, STARVED, JobClass
from muster.model.ids import JobId, TeamPath
from muster.model.job import WaitingJob
from muster.model.limits import PREEMPTION_EFFORT_NODES, PREEMPTORS_MAX, PREEMPTORS_MIN
from muster.model.plan import Basis, Eviction

_Key = tuple[bool, int, int]
"""Whom a class may ask: only elastic jobs that can shrink, or those below its tier and those who borrow from its team;
the latter by number, because this is looked up for every class of a long queue."""

BY_TURN, STARVED_BY_TURN, AHEAD_BY_TURN = -1, -2, -3
"""In place of such a number: those whose turn is over and who have not starved, those who have, and those of the first
who are ahead of what they are due."""


class Preemption:
    """Makes room for blocked gangs in one cycle. What is found out for one gang is kept for those with equal rights."""

    def __init__(self, desk: Desk, broken: dict[JobId, str]) -> None:
        self._desk = desk
        self._broken = broken
        """Jobs whose promise could not be kept, and what they are told when they get another."""
        self._turns = Turns(desk)
        self._shrinkable: list[Victim] | None = None
        self._leaving: Candidates | None = None
        self._told = 0
        effort = PREEMPTION_EFFORT_NODES // max(len(desk.setting.tree.nodes), 1)
        self._most = min(max(effort, PREEMPTORS_MIN), PREEMPTORS_MAX)
        self.claims = Claims(desk)
        self.unpromised: list[JobId] = []
        """Jobs that this cycle promised a start on GPUs of a victim that was spared: to be promised another."""
        self._candidates: dict[_Key, Candidates] = {}
        self._hopeless: dict[tuple[_Key, int, int, int], bool] = {}

    def may_ask(self, group: JobClass) -> bool:
        """True when there may be somebody whom the class can have leave because of its tier or its team's guarantee."""
        return any(self._shrinking(group, choice) or self._stopping(group, choice) for choice in group.gang.choices)

    def make_room(
        self, group: JobClass, job: WaitingJob, widest: int, *, before_ms: int | None = None, in_turn: bool = True
    ) -> bool:
        """Find victims for a blocked gang; true when some were found and the gang was promised their GPUs.

        With `before_ms` only such who will have left by then; without `in_turn` nobody whose turn is merely over.
        """
        desk = self._desk
        if not desk.policy.preemption and not desk.snapshot.elastic:
            return False
        if desk.preemptors >= self._most:
            desk.has_more_to_do = True
            return False
        for choice in group.gang.choices:
            waited_for = self._without_victims(group, choice, widest)
            if waited_for is not None and self._is_sound(group, choice, waited_for, before_ms):
                self.carry_out(group, job, choice, waited_for)
                return True
        for rights in (self._shrinking, self._stopping):
            for number, choice in enumerate(group.gang.choices):
                sacrifice = self._cheapest(rights(group, choice), group, number, choice, widest)
                if sacrifice is not None and self._is_sound(group, choice, sacrifice, before_ms):
                    self.carry_out(group, job, choice, sacrifice)
                    return True
        return in_turn and self._take_turn(group, job, widest, before_ms)

    def _take_turn(self, group: JobClass, job: WaitingJob, widest: int, before_ms: int | None) -> bool:
        """Ask those whose turn is over: who has starved before last, and one who is enough alone before several."""
        for whom in self._turns_open_to(group):
            for number, choice in enumerate(group.gang.choices):
                sacrifice = self._in_turn(group, number, choice, widest, whom)
                if sacrifice is not None and self._is_sound(group, choice, sacrifice, before_ms):
                    self.carry_out(group, job, choice, sacrifice)
                    return True
        return False

    def _turns_open_to(self, group: JobClass) -> list[int]:
        """Whom a class may ask to give way: jobs that have not starved, and after them perhaps those that have.

        A job that was preempted asks only once it has starved, and never another that has: so nobody is asked back and
        forth.
        """
        asked: list[int] = []
        if not self._turns.anybody:
            return asked
        if group.band == STARVED:
            asked = [BY_TURN]
        elif group.band == FRESH and group.may_preempt:
            asked = [BY_TURN, STARVED_BY_TURN]
        return [whom for whom in asked if self._whose_turn_is_over(group.tier, whom)]

    def may_change_places(self, group: JobClass) -> bool:
        """True when the class has never run and there are jobs whose turn is over that it may ask."""
        return group.band == FRESH and self._desk.preemptors < self._most and BY_TURN in self._turns_open_to(group)

    def of_those_ahead(self, group: JobClass, number: int, choice: Choice, widest: int) -> Sacrifice | None:
        """How jobs that are ahead of what they are due can make room for a gang, if it is enough to wait for them."""
        waited_for = self._without_victims(group, choice, widest)
        sacrifice = waited_for or self._in_turn(group, number, choice, widest, AHEAD_BY_TURN)
        return sacrifice if sacrifice is not None and self._is_sound(group, choice, sacrifice, None) else None

    def _in_turn(self, group: JobClass, number: int, choice: Choice, widest: int, whom: int) -> Sacrifice | None:
        if not self.quota_allows(group, choice):
            return None
        jobs = self._whose_turn_is_over(group.tier, whom)
        alone = one_makes_room(self._turns, jobs, self.departed(), group.gang, choice, widest, self._allowance)
        if alone is not None:
            return alone
        return self._cheapest((True, group.tier, whom), group, number, choice, widest)

    def _whose_turn_is_over(self, tier: int, whom: int) -> list[JobId]:
        if whom == AHEAD_BY_TURN:
            return self._turns.ahead(tier)
        return self._turns.over(tier, starved=whom == STARVED_BY_TURN)

    def _tellings(self) -> list[Told]:
        return told_to_leave(self._desk)

    def _allowance(self, team: TeamPath) -> int:
        return may_take_from(self._desk, team)

    def _without_victims(self, group: JobClass, choice: Choice, widest: int) -> Sacrifice | None:
        """What a gang that may ask others to leave gets when it only waits for those who were told to already."""
        departed = self.departed()
        may_ask = self._shrinking(group, choice) or self._stopping(group, choice) or self._turns_open_to(group)
        if not may_ask:
            return None
        if not fits(departed, group.gang, choice, widest) or not self.quota_allows(group, choice):
            return None
        seating = place(departed, group.gang, choice, widest)
        return Sacrifice((), seating, 0) if seating is not None else None

    def hopeful(self, groups: list[JobClass]) -> list[JobClass]:
        """Those of some classes of one fortune that have a claim and are not hopeless with it."""
        verdicts: dict[Rights, bool] = {}
        found: list[JobClass] = []
        for group, rights in self.claims.claimants(groups):
            hopeless = verdicts.get(rights)
            if hopeless is None:
                hopeless = verdicts[rights] = self.is_hopeless(group, rights)
            if not hopeless:
                found.append(group)
        return found

    def is_hopeless(self, group: JobClass, rights: Rights | None = None) -> bool:
        """True when the class would not fit even if everybody left whom it may ask to leave.

        Without the rights of its team only what its tier may ask for counts: then it holds for every team that wants
        the same gang. Also true once this cycle has made room as often as it may, and for what a bounded search has
        failed at: the next cycle asks again. It is what lets a cycle pass over most of a long queue.
        """
        if self._desk.preemptors >= self._most:
            self._desk.has_more_to_do = True
            return True
        self._those_leaving()
        spare = bool(self._spare_workers())
        for number, choice in enumerate(group.gang.choices):
            if spare and not self._cannot_help(self._shrinking(group, choice), group, number, choice):
                return False
            lent = rights[number] if rights is not None else NOBODY
            if group.may_preempt and not self._cannot_help(self._stopping_below(group, lent), group, number, choice):
                return False
        return all(self._turns_are_of_no_use(group, whom) for whom in self._turns_open_to(group))

    def _turns_are_of_no_use(self, group: JobClass, whom: int) -> bool:
        """True when a search among those whose turn is over has failed for this gang in every way."""
        key: _Key = (True, group.tier, whom)
        tried = ((key, group.gang_number, number, group.gang.widest) for number in range(len(group.gang.choices)))
        return all(way in self._hopeless for way in tried)

    def _cannot_help(self, rights: _Key | None, group: JobClass, number: int, choice: Choice) -> bool:
        if rights is None:
            return True
        known = (rights, group.gang_number, number, group.gang.widest)
        if known not in self._hopeless:
            candidates = self._candidates_for(rights)
            if fits(candidates.empty, group.gang, choice, group.gang.widest):
                return False
            self._hopeless[known] = True
        return True

    def _candidates_for(self, key: _Key) -> Candidates:
        departed = self.departed()
        candidates = self._candidates.get(key)
        if candidates is None:
            candidates = self._candidates[key] = self._those_to_ask(key, departed)
        candidates.catch_up()
        return candidates

    def _those_to_ask(self, key: _Key, departed: Capacity) -> Candidates:
        """Everybody whom those with these rights may ask; whoever is below a tier is looked for once for the tier."""
        stops, tier, whom = key
        if not stops:
            return Candidates(departed, self._spare_workers())
        if whom <= BY_TURN:
            jobs = self._whose_turn_is_over(tier, whom)
            return Candidates(departed, [self._turns.victim(job_id) for job_id in jobs])
        lower = self._below(tier)
        if whom == NOBODY:
            return Candidates(departed, lower + self._spare_workers() if lower else [])
        known = {victim.job.id: None for victim in lower}
        borrowers = self.claims.roster.borrowers(tier, self.claims.borrowers(whom))
        others = [victim for victim in borrowers if victim.job.id not in known]
        if lower:
            return self._candidates_for((True, tier, NOBODY)).with_others(others)
        return Candidates(departed, others + self._spare_workers() if others else [])

    def _below(self, tier: int) -> list[Victim]:
        """Jobs of lower tiers, where the tier may stop them."""
        preempts = self._desk.setting.tiers[tier].preempts
        return self.claims.roster.below(tier) if preempts and self._has_below(tier) else []

    def _has_below(self, tier: int) -> bool:
        """False when no lower tier runs anything: then the roster, the dearest thing in a cycle, need not be made."""
        return any(self._desk.snapshot.running_in[tier + 1 :])

    def departed(self) -> Capacity:
        """What will be free and not promised once everybody who was told to leave is gone."""
        leaving = self._those_leaving()
        leaving.catch_up()
        return leaving.empty

    def _those_leaving(self) -> Candidates:
        """Everybody who was told to leave, before or in this cycle; nobody else can ask them any more."""
        desk = self._desk
        if self._leaving is not None and self._told == len(desk.evictions):
            return self._leaving
        if self._leaving is None:
            self._leaving = Candidates(desk.horizons.closed, [*leavers(desk), *self._given_up()])
            for job_id in desk.evictions:
                self._strike_off(job_id)
        else:
            for job_id in list(desk.evictions)[self._told :]:
                self._strike_off(job_id)
                self._leaving.add(as_leaver(desk, job_id))
        self._told = len(desk.evictions)
        return self._leaving

    def _strike_off(self, job_id: JobId) -> None:
        """Somebody was told to leave or to shrink: he cannot be asked again."""
        self.claims.strike_off(job_id)
        self._turns.leave(job_id)
        self._shrinkable = [other for other in self._spare_workers() if other.job.id != job_id]
        for candidates in self._candidates.values():
            candidates.without(job_id)

    def _given_up(self) -> list[Victim]:
        """Workers that elastic jobs give up in this plan."""
        desk = self._desk
        jobs = [(desk.snapshot.running[job_id], resize) for job_id, resize in desk.resizes.items()]
        return [workers_of(desk, job, given_up(job, resize.workers)) for job, resize in jobs]

    def _cheapest(
        self,
        rights: _Key | None,
        group: JobClass,
        number: int,
        choice: Choice,
        widest: int,
    ) -> Sacrifice | None:
        if rights is None:
            return None
        known = (rights, group.gang_number, number, widest)
        if known in self._hopeless:
            return None
        candidates = self._candidates_for(rights)
        if not self.quota_allows(group, choice):
            return None
        sacrifice = Search(
            capacity=self.departed(),
            candidates=candidates,
            gang=group.gang,
            choice=choice,
            widest=widest,
            team=group.team,
            ledger=self._desk.projected,
            allowance=self._allowance,
            tellings=self._tellings,
        ).cheapest()
        if sacrifice is None:
            self._hopeless[known] = True
        return sacrifice

    def quota_allows(self, group: JobClass, choice: Choice) -> bool:
        """True when the gang, starting now, would break neither a limit nor a promise."""
        return self._desk.quota_refusal(group.team, choice, self._desk.now_ms + group.limit_ms) is None

    def _is_sound(self, group: JobClass, choice: Choice, sacrifice: Sacrifice, before_ms: int | None) -> bool:
        """True when the gang, starting once everybody has left, breaks neither a limit nor a promise in its run.

        And when that is in time: nobody leaves for a gang that would have started as soon without.
        """
        start_ms = self._gone_ms(sacrifice)
        if before_ms is not None and start_ms >= before_ms:
            return False
        return quota_allows(self._desk, group.team, choice, start_ms, start_ms + group.limit_ms)

    def _shrinking(self, _group: JobClass, _choice: Choice) -> _Key | None:
        """Anybody's smallest gang comes before what elastic jobs have beyond theirs."""
        return (False, 0, NOBODY) if self._spare_workers() else None

    def _spare_workers(self) -> list[Victim]:
        """What elastic jobs have beyond their smallest size and have not been asked for yet."""
        desk = self._desk
        if self._shrinkable is None:
            self._shrinkable = shrinkable(desk) if desk.policy.elastic else []
        return self._shrinkable

    def _stopping(self, group: JobClass, choice: Choice) -> _Key | None:
        """Lower tiers, if the tier preempts; borrowers, while the team is inside its guarantee."""
        return self._stopping_below(group, self.claims.lent(group, choice))

    def _stopping_below(self, group: JobClass, lent: int) -> _Key | None:
        desk = self._desk
        preempts = desk.setting.tiers[group.tier].preempts
        if not desk.policy.preemption or not group.may_preempt or not (preempts or lent):
            return None
        if preempts and not self.claims.has_roster and self._has_below(group.tier):
            # Now, before anybody is told to leave: what leaving costs is measured by all who could.
            self.claims.call_roll()
        return (True, group.tier, lent)

    def carry_out(self, group: JobClass, job: WaitingJob, choice: Choice, sacrifice: Sacrifice) -> None:
        """Tell the victims, and promise the gang their GPUs for when they are gone."""
        desk = self._desk
        desk.preemptors += 1
        for victim in sacrifice.victims:
            if not victim.workers:
                desk.evict(Eviction(job=victim.job.id, for_job=job.id, why=victim.why, lost_gpu_ms=victim.lost_gpu_ms))
        shrunk = [victim for victim in sacrifice.victims if victim.workers]
        shrink(desk, shrunk, job.id)
        for victim in shrunk:
            self._strike_off(victim.job.id)
            self._those_leaving().add(victim)
        desk.promise(
            job.id,
            group.team,
            group.tier,
            group.limit_ms,
            choice,
            sacrifice.seating,
            self._gone_ms(sacrifice),
            Basis.DEPARTURES,
            self._broken.get(job.id, ""),
        )

    def forget_leavers(self) -> None:
        """Somebody who was told to leave may stay: who leaves is found out anew."""
        self._leaving = None

    def _gone_ms(self, sacrifice: Sacrifice) -> int:
        """When everybody who is in the way has left."""
        desk = self._desk
        times = [desk.now_ms + desk.setting.grace_ms(victim.job.spec) for victim in sacrifice.victims]
        return max([desk.gone_ms(sacrifice.seating.footprint), *times])
