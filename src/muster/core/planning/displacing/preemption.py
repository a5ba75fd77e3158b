"""One pipeline for tiers, quota reclaim and turns: which jobs may preempt, and what is done with the victims.

A job that was itself preempted and waits again stops no job of a lower tier, and jobs of its own tier only by turns. It
takes back what its team is guaranteed only where a guarantee comes before a tier (`Ledger.shelters`): there no job that
borrows can stop it in return. So preemptions form no cycle. Elastic jobs are shrunk before any job is stopped, and
protected jobs are stopped last.
"""

from collections.abc import Callable, Iterator

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.gang import Choice
from muster.core.order.queueing import JobClass
from muster.core.order.service import NEWCOMERS, ServicePlace
from muster.core.planning.displacing.candidates import Candidates
from muster.core.planning.displacing.departures import Departures
from muster.core.planning.displacing.horizon_rooms import HorizonRoom, HorizonRooms, Key, Sight
from muster.core.planning.displacing.proposals import Proposal, carry_out
from muster.core.planning.displacing.reclaim_rights import NOBODY, Rights
from muster.core.planning.displacing.room_search import RoomSearch
from muster.core.planning.displacing.timely_gangs import TimelyGangs
from muster.core.planning.displacing.turns import Turns, first_place, place_of
from muster.core.planning.displacing.victim_rights import LAST_RESORT, SHRINKING, STOPPING, VictimRights
from muster.core.planning.displacing.victim_search import VictimSearch
from muster.core.planning.displacing.victim_tally import only_as_borrower
from muster.core.planning.displacing.victims import Asked
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import fits
from muster.core.planning.promising.promises import quota_allows
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.limits import PREEMPTION_EFFORT_NODES, PREEMPTORS_MAX, PREEMPTORS_MIN

LEAVING_MS = 10 * 60_000
"""Within which time a gang has to start that takes GPUs in front of somebody's promise: the longest grace periods."""


class Preemption:
    """Makes room for blocked gangs in one cycle. What is found out for one gang is kept for gangs with equal rights."""

    def __init__(self, draft: PlanDraft, broken: dict[JobId, str]) -> None:
        self._draft = draft
        self.broken = broken
        """Jobs whose promise could not be renewed, and what they are told when they get another."""
        self._turns = Turns(draft)
        self._rooms = HorizonRooms(draft, self._strike_off)
        self.gangs = TimelyGangs(draft)
        effort = PREEMPTION_EFFORT_NODES // max(len(draft.setting.tree.nodes), 1)
        self._most = min(max(effort, PREEMPTORS_MIN), PREEMPTORS_MAX)
        self.rights = VictimRights(draft)
        self.claims = self.rights.claims
        self.unpromised: list[JobId] = []
        """Jobs whose promise this cycle took back, for a guarantee or because a victim stays. They get another."""
        self._hopeless: dict[tuple[tuple[int, JobId | None], Key, int, int, int], bool] = {}
        self._no_turn: dict[tuple[int, int, int, int, int], ServicePlace] = {}
        """By tier, claim, gang, choice and width: the best place for which too few jobs of the tier could leave."""
        self.changing: dict[JobId, None] = {}
        """Jobs that were promised faster GPUs than they could have begun on."""

    @property
    def departures(self) -> Departures:
        """What comes free of everything that nobody was promised."""
        return self._rooms.closed.departures

    def forget_departures(self) -> None:
        """A job that was told to leave may stay."""
        self._rooms.forget_departures()

    def may_ask(self, group: JobClass) -> bool:
        """True when some job may shrink for the class, or leave because of its tier or its team's guarantee."""
        return self._has_rights(group, (SHRINKING, STOPPING, LAST_RESORT), group.gang.choices)

    def may_make_leave(self, group: JobClass) -> bool:
        """True when some job may leave for the class: by turn, by tier, or because of its team's guarantee."""
        return self.may_take_turn(group) or self._has_rights(group, (STOPPING, LAST_RESORT), group.gang.choices)

    def _has_rights(self, group: JobClass, kinds: tuple[int, ...], choices: tuple[Choice, ...]) -> bool:
        return any(self.rights.of(kind, group, choice) for choice in choices for kind in kinds)

    def may_insist(self, group: JobClass) -> bool:
        """True when the class's team may take its guarantee back in the last resort."""
        return self._draft.preemptors < self._most and self._has_rights(group, (LAST_RESORT,), group.gang.choices)

    def make_room(
        self,
        group: JobClass,
        job: WaitingJob,
        *,
        before_ms: int | None = None,
        in_turn: bool = True,
        holder: JobId | None = None,
    ) -> bool:
        """Find room for a blocked gang; true when it was promised the GPUs of jobs that leave or shrink.

        With `before_ms` all of these will have left by then. Without `in_turn` no job leaves because its turn is over.
        `holder` is the job if its own promise is put aside meanwhile.
        """
        draft = self._draft
        if not draft.policy.preemption and not draft.snapshot.elastic:
            return False
        if draft.preemptors >= self._most:
            draft.has_more_to_do = True
            return False
        closed = self._rooms.closed

        def propose(sight: Sight) -> Iterator[Proposal]:
            return self._proposals(sight, group, job, in_turn=in_turn and sight.room is closed)

        return self._carry_out_one(group, propose, before_ms, holder)

    def _carry_out_one(
        self,
        group: JobClass,
        propose: Callable[[Sight], Iterator[Proposal]],
        before_ms: int | None,
        holder: JobId | None,
    ) -> bool:
        """Carry out a proposal for what nobody was promised, or else for what the gang leaves before it is needed."""
        closed = self._rooms.closed
        if self._carry_out_first(group, propose(Sight(closed, holder)), before_ms):
            return True
        room, by_ms = self.room_in_front(group, before_ms)
        return room is not closed and self._carry_out_first(group, propose(Sight(room, holder)), by_ms + 1)

    def room_in_front(self, group: JobClass, before_ms: int | None = None) -> tuple[HorizonRoom, int]:
        """Where a class may look in front of promises, and by when it has to start there; else the closed horizon."""
        by_ms = self._draft.now_ms + LEAVING_MS
        by_ms = by_ms if before_ms is None else min(by_ms, before_ms - 1)
        if not self._draft.promises or not self.may_ask(group):
            return self._rooms.closed, by_ms
        return self._rooms.until(by_ms + group.limit_ms), by_ms

    def _carry_out_first(self, group: JobClass, proposals: Iterator[Proposal], before_ms: int | None) -> bool:
        """Carry out the first proposal that is sound. Later ones are not even looked for."""
        for proposal in proposals:
            if self._is_sound(group, proposal, before_ms):
                self.carry_out(group, proposal)
                return True
        return False

    def _proposals(self, sight: Sight, group: JobClass, job: WaitingJob, *, in_turn: bool) -> Iterator[Proposal]:
        """Ways to make room for a gang, those that cost other jobs least first."""
        choices = self.gangs.of(group).gang.choices
        for choice in choices:
            waited_for = self._without_victims(sight, group, job, choice)
            if waited_for is not None:
                yield waited_for
        yield from self._of_a_kind(SHRINKING, sight, group, job)
        yield from self._of_a_kind(STOPPING, sight, group, job)
        place = place_of(self._draft.snapshot, group, job, self._draft.now_ms)
        if in_turn and self._turns.has_worse(group.tier, place):
            for number in range(len(choices)):
                proposal = self._in_turn(group, job, number, place)
                if proposal is not None:
                    yield proposal
        yield from self._of_a_kind(LAST_RESORT, sight, group, job)

    def ask(
        self, kind: int, group: JobClass, job: WaitingJob, before_ms: int | None, holder: JobId | None = None
    ) -> bool:
        """Evict the cheapest victims of a kind that the class may have, for the first choice of its gang that works."""
        return self._carry_out_one(group, lambda sight: self._of_a_kind(kind, sight, group, job), before_ms, holder)

    def _of_a_kind(self, kind: int, sight: Sight, group: JobClass, job: WaitingJob) -> Iterator[Proposal]:
        for number, choice in enumerate(self.gangs.of(group).gang.choices):
            proposal = self._cheapest(self.rights.of(kind, group, choice), sight, group, job, number)
            if proposal is not None:
                yield proposal

    def may_take_turn(self, group: JobClass) -> bool:
        """True when some job of its tier has a worse place than the first job of the class, and would leave for it."""
        return self._draft.policy.takes_turns and self._turns.has_worse(group.tier, self._first_place(group))

    def _first_place(self, group: JobClass) -> ServicePlace:
        return first_place(self._draft.snapshot, group, self._draft.now_ms)

    def may_change_places(self, group: JobClass) -> bool:
        """True when the class is new, the cycle may still make room, and some job leaves or could leave by turn."""
        if group.band != NEWCOMERS or not group.may_preempt or self._draft.preemptors >= self._most:
            return False
        return bool(self._draft.evictions) or self._turns.has_any(group.tier)

    def of_those_ahead(self, group: JobClass, job: WaitingJob, number: int, before_ms: int) -> Proposal | None:
        """Room for a gang before a time, if jobs leave anyway or jobs leave that are ahead of their fair share."""
        closed = self._rooms.closed
        waited_for = self._in_what_comes_free(closed, group, job, self.gangs.of(group).gang.choices[number])
        proposal = waited_for or self._in_turn(group, job, number, None)
        return proposal if proposal is not None and self._is_sound(group, proposal, before_ms) else None

    def _in_turn(self, group: JobClass, job: WaitingJob, number: int, place: ServicePlace | None) -> Proposal | None:
        """Room in place of jobs of the tier that have a worse place; without a place, of jobs that are ahead."""
        gang_number, gang = self.gangs.of(group)
        choice = gang.choices[number]
        claim = self.claims.number(group, choice)
        known = (group.tier, claim, gang_number, number, self._draft.widest(gang, job))
        failed = self._no_turn.get(known)
        if (place and failed and failed <= place) or not self.quota_allows(group, choice):
            return None
        # First, because it strikes off the jobs that were told to leave since.
        departed = self.departures.capacity()
        search = RoomSearch(self._draft, departed, job, gang, choice)
        turns, tier = self._turns, group.tier
        willing = [turns.ahead(tier)] if place is None else turns.worse_than(tier, place, group.gpu_milli)
        sheltered = self.claims[claim].sheltered
        for jobs in willing:
            proposal = search.worst_first(turns.unsheltered(jobs, sheltered))
            if proposal is not None:
                return proposal
        if place is not None:
            self._no_turn[known] = place
        return None

    def _without_victims(self, sight: Sight, group: JobClass, job: WaitingJob, choice: Choice) -> Proposal | None:
        """Room for a gang that may preempt, when it only waits for jobs that were told to leave already."""
        kinds = (SHRINKING, STOPPING, LAST_RESORT)
        may_ask = self._has_rights(group, kinds, (choice,)) or self.may_take_turn(group)
        return self._in_what_comes_free(sight.room, group, job, choice) if may_ask else None

    def _in_what_comes_free(
        self, room: HorizonRoom, group: JobClass, job: WaitingJob, choice: Choice
    ) -> Proposal | None:
        departed = room.departures.capacity()
        search = RoomSearch(self._draft, departed, job, self.gangs.of(group).gang, choice)
        return search.without_victims() if self.quota_allows(group, choice) else None

    def hopeful(self, groups: list[JobClass]) -> list[JobClass]:
        """Of classes with one feasibility key, those that have a claim and are not hopeless with it."""
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
        """True when the class would not fit even if every job left that it may preempt.

        Without `rights` the claim of its team does not count: then the answer holds for every team that wants the same
        gang. Also true once this cycle has made room as often as it may, and where a bounded search has failed: the
        next cycle tries again. This lets a cycle pass over most of a long queue.
        """
        if self._draft.preemptors >= self._most:
            self._draft.has_more_to_do = True
            return True
        self.departures.call_roll()
        closed = self._rooms.closed
        if not self._finds_nobody(Sight(closed), group, rights):
            return False
        if self.may_take_turn(group) and not self._turns_are_of_no_use(group, rights):
            return False
        room, _ = self.room_in_front(group)
        return room is closed or self._finds_nobody(Sight(room), group, rights)

    def _finds_nobody(self, sight: Sight, group: JobClass, rights: Rights | None) -> bool:
        """True when the class would not fit even if all jobs left or shrank that it may ask because of a right."""
        spare = bool(self.rights.spare_workers())
        for number, choice in enumerate(self.gangs.of(group).gang.choices):
            if spare and not self._cannot_help(self.rights.of(SHRINKING, group, choice), sight, group, number, choice):
                return False
            claim = rights[number] if rights is not None else NOBODY
            if not self._cannot_help(self.rights.stopping_below(group, claim), sight, group, number, choice):
                return False
            if rights is not None and self.rights.insisting(group, choice):
                return False
        return True

    def _turns_are_of_no_use(self, group: JobClass, rights: Rights | None) -> bool:
        """True when a search among jobs with a worse place has failed for every choice of this gang."""
        claims = rights if rights is not None else (NOBODY,) * len(group.gang.choices)
        place, gang_number = self._first_place(group), self.gangs.of(group).number
        for number, claim in enumerate(claims):
            failed = self._no_turn.get((group.tier, claim, gang_number, number, group.gang.widest))
            if failed is None or failed > place:
                return False
        return True

    def _cannot_help(self, rights: Key | None, sight: Sight, group: JobClass, number: int, choice: Choice) -> bool:
        if rights is None:
            return True
        gang_number, gang = self.gangs.of(group)
        known = (sight.key, rights, gang_number, number, gang.widest)
        if known not in self._hopeless:
            candidates = self._candidates_for(rights, sight.room)
            if fits(candidates.empty, gang, choice, gang.widest):
                return False
            self._hopeless[known] = True
        return True

    def _candidates_for(self, key: Key, room: HorizonRoom) -> Candidates:
        departed = room.departures.capacity()
        candidates = room.candidates.get(key)
        if candidates is None:
            candidates = room.candidates[key] = self._those_to_ask(key, room, departed)
        candidates.catch_up()
        return candidates

    def _those_to_ask(self, key: Key, room: HorizonRoom, departed: Capacity) -> Candidates:
        """All jobs that a class with these rights may preempt."""
        draft, (kind, tier, number, by_tier) = self._draft, key
        claim, spare = self.claims[number], self.rights.spare_workers()
        asked = None
        if kind != SHRINKING:
            asked = Asked(draft, self.claims.roster, tier, claim, by_tier=by_tier, insists=kind >= LAST_RESORT)
        return Candidates(draft, departed, asked, spare, rights=(room.number, kind, tier, claim, by_tier))

    def _strike_off(self, job_id: JobId) -> None:
        """A job was told to leave or to shrink: it cannot be told again."""
        self.rights.strike_off(job_id)
        self._turns.leave(job_id)
        for room in self._rooms:
            for candidates in room.candidates.values():
                candidates.without(job_id)

    def _cheapest(
        self, rights: Key | None, sight: Sight, group: JobClass, job: WaitingJob, number: int
    ) -> Proposal | None:
        if rights is None:
            return None
        gang_number, gang = self.gangs.of(group)
        choice = gang.choices[number]
        known = (sight.key, rights, gang_number, number, self._draft.widest(gang, job))
        if known in self._hopeless:
            return None
        candidates = self._candidates_for(rights, sight.room)
        if not self.quota_allows(group, choice):
            return None
        entitled = self.claims.entitled(group, choice)
        departed = sight.room.departures.capacity()
        search = VictimSearch(self._draft, departed, candidates, job, gang, choice, entitled)
        proposal = search.cheapest()
        if proposal is None:
            self._hopeless[known] = True
        return proposal

    def quota_allows(self, group: JobClass, choice: Choice) -> bool:
        """True when the gang, starting now, would break neither a limit nor a promise."""
        return self._draft.quota_refusal(group.account, choice, self._draft.now_ms + group.limit_ms) is None

    def _is_sound(self, group: JobClass, proposal: Proposal, before_ms: int | None) -> bool:
        """True when the gang, starting once all victims have left, breaks neither a limit nor a promise in its run.

        It must also start before `before_ms`: no job leaves for a gang that would have started as soon without it.
        """
        start_ms = proposal.start_ms
        if before_ms is not None and start_ms >= before_ms:
            return False
        return quota_allows(self._draft, group.account, proposal.choice, start_ms, start_ms + group.limit_ms)

    def carry_out(self, group: JobClass, proposal: Proposal) -> None:
        """Carry out a proposal for a job of the class, and remember which victims had to leave as borrowers."""
        draft = self._draft
        draft.preemptors += 1
        entitled = self.claims.entitled(group, proposal.choice)
        for victim in proposal.victims:
            if not victim.workers and only_as_borrower(draft.projected, group.team, entitled, victim):
                draft.borrowers[victim.job.id] = None
        aside = draft.promises.get(proposal.job.id)
        moved_because = self.broken.get(proposal.job.id, "") if aside is None else aside.terms.moved_because
        carry_out(draft, proposal, moved_because)
        for victim in proposal.victims:
            if victim.workers:
                for room in self._rooms:
                    room.departures.add(victim)
