"""What protects running jobs from a waiting job that may preempt: which jobs, by which rule, and until when.

A job is named only if it is needed: the gang would fit if the named jobs and all those that may be told to leave now
were gone, and it would not fit if any of the named jobs stayed. Protections that end by themselves are looked at first,
then those of single jobs, then tiers. Jobs of its own tier are no preemptor's victims; they are told of as jobs in
front (`place_in_tier`).
"""

from enum import IntEnum
from typing import NamedTuple

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.footprint import gpu_milli_of
from muster.core.cluster.gang import Choice, Gang
from muster.core.cluster.node_use import Footprint
from muster.core.explaining.wording import gpu_time, named, no_more_than, time_left
from muster.core.order.preemptibles import lost_gpu_ms, saved_at_ms
from muster.core.order.queueing import JobClass
from muster.core.order.quota import OWN_JOBS
from muster.core.planning.displacing.horizon_rooms import HorizonRoom
from muster.core.planning.displacing.preemption import Preemption
from muster.core.planning.displacing.victim_tally import more_than_is_lent, only_as_borrower
from muster.core.planning.displacing.victims import Asked, Victim, may_take_from
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import fits, place
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, TeamPath
from muster.model.job import RunningJob
from muster.model.plan import Reason, ReasonCode
from muster.model.policy import Policy
from muster.model.records import evolve


class Guard(IntEnum):
    """What protects a running job. The order is the order in which answers look for a way."""

    NOTHING = 0
    MIN_RUNTIME = 1
    RATE = 2
    JOB_FILE = 3
    GUARANTEE = 4
    TIER = 5
    LENT = 6


_RULES = {
    Guard.MIN_RUNTIME: "min_runtime",
    Guard.RATE: "preemptions_per_team_hour",
    Guard.JOB_FILE: "preemptible",
    Guard.GUARANTEE: "guaranteed",
    Guard.TIER: "tier",
    Guard.LENT: "guaranteed",
}

_STAGES = ((Guard.MIN_RUNTIME, Guard.RATE), (Guard.JOB_FILE, Guard.GUARANTEE), (Guard.TIER,))
"""Protections that are taken away together, one stage after another."""


class _Bystanders(NamedTuple):
    """All running jobs, as classes with equal rights see them."""

    guards: dict[JobId, Guard]
    """Jobs that are told to leave already, and those of the own tier, are not in it."""
    base: Capacity
    """What would be free if all jobs left that may be told to leave now."""
    stages: tuple[Capacity, ...]
    """The same without the protections of each stage and of those before it."""


class Protections:
    """Answers for all waiting jobs of one situation. Found once for jobs that want the same gang by the same rights."""

    def __init__(self, draft: PlanDraft) -> None:
        """`draft` is the state after a plan. The rules that protect jobs for a while are taken away from it here."""
        self._snapshot: Snapshot = draft.snapshot
        self._draft = draft
        self._policy: Policy = draft.policy
        draft.policy = evolve(draft.policy, min_runtime_ms=0)
        self._preemption = Preemption(draft, {})
        self._bystanders_of: dict[tuple[object, ...], _Bystanders] = {}
        """By their rights, and by the number of the horizon that they look under."""
        self._found: dict[tuple[object, ...], tuple[Reason, ...]] = {}

    def reasons(
        self, group: JobClass, level: int, promised: Footprint = (), promised_ms: int = 0
    ) -> tuple[Reason, ...]:
        """What protects the jobs whose place a class could take otherwise; empty when nothing does.

        `promised` is what the job was promised itself, for `promised_ms`. It is not in its own way.
        """
        if not self._policy.preemption:
            return ()
        room, by_ms = self._preemption.room_in_front(group)
        if room.number and not self._draft.horizons.reserves(promised_ms, by_ms + group.limit_ms):
            promised = ()  # nothing was taken away for it there
        for number, choice in enumerate(group.gang.choices):
            asked = self._preemption.rights.asked(group, choice)
            if asked is None:
                continue
            lender = group.team if self._draft.projected.guarantees_anything else None
            key = (asked.rights, room.number, lender, group.gang_number, number, level, promised)
            if key not in self._found:
                bystanders = self._bystanders(asked, group, room)
                needed = self._needed(bystanders, group.gang, choice, level, promised)
                if lender is not None:
                    beside = self._beside(bystanders, needed, group.gang, choice, level, promised)
                    needed |= self._beyond_what_is_lent(asked, group, choice, (*needed, *beside))
                self._found[key] = self._told(group, needed)
            if self._found[key]:
                return self._found[key]
        return ()

    def _bystanders(self, asked: Asked, group: JobClass, room: HorizonRoom) -> _Bystanders:
        key = (asked.rights, room.number)
        known = self._bystanders_of.get(key)
        if known is None:
            known = self._bystanders_of[key] = self._find_bystanders(asked, group, room)
        return known

    def _find_bystanders(self, asked: Asked, group: JobClass, room: HorizonRoom) -> _Bystanders:
        snapshot, draft = self._snapshot, self._draft
        base = room.departures.horizon.fork()
        for job_id in dict.fromkeys((*snapshot.departing, *draft.leaving)):
            base.give(snapshot.footprints[job_id])
        guards: dict[JobId, Guard] = {}
        for job_id, job in snapshot.running.items():
            if job.leaving_by_ms is None and job_id not in draft.leaving and job_id not in draft.resizes:
                guard = self._guard(asked, group, job)
                if guard is not None:
                    guards[job_id] = guard
        self._give(base, guards, (Guard.NOTHING,))
        stages: list[Capacity] = []
        for stage in _STAGES:
            following = (stages[-1] if stages else base).fork()
            self._give(following, guards, stage)
            stages.append(following)
        return _Bystanders(guards, base, tuple(stages))

    def _give(self, capacity: Capacity, guards: dict[JobId, Guard], which: tuple[Guard, ...]) -> None:
        for job_id, guard in guards.items():
            if guard in which:
                capacity.give(self._snapshot.footprints[job_id])
        capacity.forget_marks()

    def _guard(self, asked: Asked, group: JobClass, job: RunningJob) -> Guard | None:
        """What protects a job from a class; None for a job that the class would not stop in any case."""
        draft, setting = self._draft, self._draft.setting
        if asked.takes(job):
            if draft.now_ms - job.started_ms < self._policy.min_runtime_ms:
                return Guard.MIN_RUNTIME
            return Guard.NOTHING if may_take_from(draft, job.spec.team) > 0 else Guard.RATE
        if not asked.by_tier:
            return None
        rank, tier = setting.tier_rank[job.spec.tier], setting.tier(job.spec.tier)
        if rank < group.tier or not tier.preemptible:
            return Guard.TIER
        if rank == group.tier:
            return None
        return Guard.GUARANTEE if job.spec.preemptible else Guard.JOB_FILE

    def _needed(
        self, bystanders: _Bystanders, gang: Gang, choice: Choice, level: int, promised: Footprint
    ) -> dict[JobId, Guard]:
        """The protected jobs without which the gang would fit, and no more of them than needed."""
        if self._fits_in(bystanders.base, gang, choice, level, promised):
            return self._beyond_the_rate(bystanders, gang, choice, level, promised)
        for capacity, stage in zip(bystanders.stages, _STAGES, strict=True):
            if self._fits_in(capacity, gang, choice, level, promised):
                most = max(stage)
                near = {
                    job_id: bystanders.guards[job_id]
                    for job_id in self._near(capacity, gang, choice, level, promised)
                    if Guard.NOTHING < bystanders.guards.get(job_id, Guard.NOTHING) <= most
                }
                return self._pruned(bystanders.base, near, gang, choice, level, promised)
        return {}

    def _fits_in(self, capacity: Capacity, gang: Gang, choice: Choice, level: int, promised: Footprint) -> bool:
        mark = capacity.mark()
        capacity.give(promised)
        is_enough = fits(capacity, gang, choice, level)
        capacity.rollback(mark)
        return is_enough

    def _near(self, capacity: Capacity, gang: Gang, choice: Choice, level: int, promised: Footprint) -> list[JobId]:
        """The jobs on the nodes where the gang would go."""
        mark = capacity.mark()
        capacity.give(promised)
        seating = place(capacity, gang, choice, level)
        capacity.rollback(mark)
        uses = () if seating is None else seating.footprint
        return list(dict.fromkeys(job_id for use in uses for job_id, _ in self._snapshot.uses_on(use.node)))

    def _pruned(
        self,
        base: Capacity,
        leaving: dict[JobId, Guard],
        gang: Gang,
        choice: Choice,
        level: int,
        promised: Footprint,
    ) -> dict[JobId, Guard]:
        """Of these jobs, those that must leave so that the gang fits. The best protected stay first."""
        footprints = self._snapshot.footprints
        mark = base.mark()
        base.give(promised)
        for job_id in leaving:
            base.give(footprints[job_id])
        needed = dict(leaving)
        for job_id in sorted(leaving, key=lambda each: (-leaving[each], -self._draft.end_ms(self._job(each)), each)):
            base.take(footprints[job_id])
            if fits(base, gang, choice, level):
                del needed[job_id]
            else:
                base.give(footprints[job_id])
        base.rollback(mark)
        return needed

    def _beyond_the_rate(
        self, bystanders: _Bystanders, gang: Gang, choice: Choice, level: int, promised: Footprint
    ) -> dict[JobId, Guard]:
        """The jobs that would have to leave, of a team that may not lose as many within the hour."""
        needed = self._beside(bystanders, {}, gang, choice, level, promised)
        by_team: dict[TeamPath, int] = {}
        for job_id in needed:
            team = self._job(job_id).spec.team
            by_team[team] = by_team.get(team, 0) + 1
        over = {team: None for team, count in by_team.items() if count > may_take_from(self._draft, team)}
        return {job_id: Guard.RATE for job_id in needed if self._job(job_id).spec.team in over}

    def _beside(
        self,
        bystanders: _Bystanders,
        needed: dict[JobId, Guard],
        gang: Gang,
        choice: Choice,
        level: int,
        promised: Footprint,
    ) -> dict[JobId, Guard]:
        """The jobs that nothing protects and that would have to leave with the needed ones."""
        kept = bystanders.base.fork()
        for job_id in needed:
            kept.give(self._snapshot.footprints[job_id])
        near = self._near(kept, gang, choice, level, promised)
        for job_id, guard in bystanders.guards.items():
            if guard is Guard.NOTHING:
                kept.take(self._snapshot.footprints[job_id])
        free = [job_id for job_id in near if bystanders.guards.get(job_id) is Guard.NOTHING]
        return self._pruned(kept, dict.fromkeys(free, Guard.NOTHING), gang, choice, level, promised)

    def _beyond_what_is_lent(
        self, asked: Asked, group: JobClass, choice: Choice, leaving: tuple[JobId, ...]
    ) -> dict[JobId, Guard]:
        """Of the jobs that would have to leave, those that together use more than their team borrows."""
        ledger, entitled = self._draft.projected, self._preemption.claims.entitled(group, choice)
        lent: dict[TeamPath, list[Victim]] = {}
        for job in map(self._job, leaving):
            cost, branches = asked.cost(job), ledger.branches(group.team, job.spec.team)
            victim = None if cost is None else asked.victim(job, cost)
            if victim and branches and only_as_borrower(ledger, group.team, entitled, victim):
                lent.setdefault(branches[1], []).append(victim)
        beyond = [each for each in lent.values() if more_than_is_lent(self._draft, group.team, entitled, each)]
        return {victim.job.id: Guard.LENT for victims in beyond for victim in victims}

    def _job(self, job_id: JobId) -> RunningJob:
        return self._snapshot.running[job_id]

    def _told(self, group: JobClass, needed: dict[JobId, Guard]) -> tuple[Reason, ...]:
        """A reason for each protection, and for each tier or team that it comes from."""
        parts: dict[tuple[Guard, str], list[JobId]] = {}
        guarded = [(guard, job_id) for job_id, guard in needed.items()]
        # A team that may not lose another job protects its young jobs twice.
        young = [job_id for job_id, guard in needed.items() if guard is Guard.MIN_RUNTIME]
        guarded += [(Guard.RATE, each) for each in young if may_take_from(self._draft, self._job(each).spec.team) <= 0]
        for guard, job_id in sorted(guarded):
            spec = self._job(job_id).spec
            source = {Guard.RATE: spec.team, Guard.GUARANTEE: spec.team, Guard.TIER: spec.tier}.get(guard, "")
            branches = self._draft.projected.branches(group.team, spec.team) if guard is Guard.LENT else None
            source = source if branches is None else branches[1]
            parts.setdefault((guard, source), []).append(job_id)
        only = len(parts) == 1
        return tuple(self._reason(group, guard, source, jobs, only=only) for (guard, source), jobs in parts.items())

    def _reason(self, group: JobClass, guard: Guard, source: str, jobs: list[JobId], *, only: bool) -> Reason:
        match guard:
            case Guard.MIN_RUNTIME:
                return self._too_young(jobs, only=only)
            case Guard.RATE:
                return self._too_many(TeamPath(source), jobs, only=only)
            case Guard.GUARANTEE:
                message = f"{_who(jobs)} inside what team {source} is guaranteed, which comes before a tier"
                branches = self._draft.projected.branches(group.team, TeamPath(source))
                # No guarantee covers jobs without GPUs, nor those that a team has beside its sub-teams.
                is_own = not group.gpu_milli or branches is None or branches[0].endswith(OWN_JOBS)
                raised = "" if is_own or branches is None else f"a larger guarantee for team {branches[0]}, or "
                helps = f"{raised}{named(jobs)} ending"
            case Guard.LENT:
                message = f"{named(jobs)} would have to leave, and together use more than team {source} borrows"
                helps = f"{named(jobs)} ending"
            case Guard.TIER:
                is_above = self._draft.setting.tier_rank[self._job(jobs[0]).spec.tier] < group.tier
                which = "is above that of this job" if is_above else "is not preemptible"
                message, helps = f"{_who(jobs)} in tier {source}, which {which}", f"{named(jobs)} ending"
            case _:
                message = f"{_who(jobs)} with `preemptible: false`"
                helps = f"{named(jobs)} ending, or without `preemptible: false`"
        ends_ms = max(self._draft.end_ms(self._job(job_id)) for job_id in jobs)
        until = f", and may keep {_its(jobs)} GPUs for {time_left(ends_ms - self._draft.now_ms)}"
        return _protected(guard, message + until, helps, jobs, ends_ms)

    def _too_young(self, jobs: list[JobId], *, only: bool) -> Reason:
        now_ms, least_ms = self._draft.now_ms, self._policy.min_runtime_ms
        until_ms = max(self._job(job_id).started_ms for job_id in jobs) + least_ms
        ran = no_more_than(now_ms - max(self._job(job_id).started_ms for job_id in jobs))
        message = (
            f"{jobs[0]} has run for {ran} and is protected until it has run for {time_left(least_ms)} (min_runtime)"
            if len(jobs) == 1
            else f"{named(jobs)} are protected until each has run for {time_left(least_ms)} (min_runtime)"
        )
        return self._in_time(Guard.MIN_RUNTIME, message, jobs, until_ms, only=only)

    def _too_many(self, team: TeamPath, jobs: list[JobId], *, only: bool) -> Reason:
        draft, most = self._draft, self._policy.preemptions_per_team_hour
        told = draft.told.get(team, 0)
        until_ms = self._snapshot.recent_preemptions.may_lose_ms(team, len(jobs), most, draft.now_ms, told)
        message = (
            f"{named(jobs)} would have to leave, and team {team} may lose no more than {most} "
            f"job{'' if most == 1 else 's'} in an hour"
        )
        if until_ms is None:
            helps = f"{named(jobs)} ending, or a higher preemptions_per_team_hour"
            return _protected(Guard.RATE, message, helps, jobs, None)
        return self._in_time(Guard.RATE, message, jobs, until_ms, only=only)

    def _in_time(self, guard: Guard, message: str, jobs: list[JobId], until_ms: int, *, only: bool) -> Reason:
        """A protection that ends by itself, and the work that is lost when it does."""
        lost = sum(self._lost_gpu_ms(job_id, until_ms) for job_id in jobs)
        helps = f"{named(jobs)} may be told to leave in {time_left(until_ms - self._draft.now_ms)}"
        loss = f", and then {'loses' if len(jobs) == 1 else 'lose'} up to {gpu_time(lost)}" if lost else ""
        return _protected(guard, message, f"{'nothing needed: ' if only else ''}{helps}{loss}", jobs, until_ms)

    def _lost_gpu_ms(self, job_id: JobId, at_ms: int) -> int:
        gpu_milli = gpu_milli_of(self._snapshot.demands[job_id])
        return lost_gpu_ms(saved_at_ms(self._job(job_id)), gpu_milli, at_ms)


def _who(jobs: list[JobId]) -> str:
    return f"{named(jobs)} {'runs' if len(jobs) == 1 else 'run'}"


def _its(jobs: list[JobId]) -> str:
    return "its" if len(jobs) == 1 else "their"


def _protected(guard: Guard, message: str, would_help: str, jobs: list[JobId], until_ms: int | None) -> Reason:
    return Reason(
        code=ReasonCode.PROTECTED,
        message=message,
        would_help=would_help,
        about=tuple(map(str, jobs)),
        rule=_RULES[guard],
        until_ms=until_ms,
    )
