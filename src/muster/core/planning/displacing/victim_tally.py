"""Which victims may leave together: rate limits, what their teams borrow, what elastic jobs can spare."""

from collections.abc import Iterable

from muster.core.cluster.footprint import gpu_milli_of
from muster.core.order.quota import Ledger, account_of
from muster.core.planning.displacing.shrinking import spare_workers
from muster.core.planning.displacing.victims import PlannedDeparture, Victim, may_take_from, told_to_leave
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId, TeamPath
from muster.model.plan import Why


def borrowers_first(victim: Victim) -> tuple[bool, bool, int, JobId]:
    """The order in which most may leave: spared workers, jobs that leave as borrowers, then others, the smallest first.

    So a team still borrows when its larger jobs have to leave. Jobs that leave by tier need not wait for that.
    """
    return not victim.workers, victim.why is not Why.RECLAIM, gpu_milli_of(victim.demand), victim.job.id


def only_as_borrower(ledger: Ledger, team: TeamPath, entitled: tuple[TeamPath, ...], victim: Victim) -> bool:
    """True when a team may stop this job only as long as the job's own team borrows.

    That holds when the team asks by its guarantee alone. Where guarantees come before tiers it also holds, whatever
    the tier, when the team is not inside its own guarantee. A job that is only moved costs its team nothing.
    """
    if victim.why in (Why.RECLAIM, Why.CONSOLIDATION):
        return victim.why is Why.RECLAIM
    branches = ledger.branches(team, victim.job.spec.team) if ledger.shelters else None
    return branches is not None and branches[0] not in entitled


class VictimTally:
    """Keeps a choice of victims within the rules: rate limits, what is borrowed, what an elastic job can spare."""

    def __init__(self, draft: PlanDraft, team: TeamPath, entitled: tuple[TeamPath, ...], *, lent: bool = True) -> None:
        """Without `lent` it does not matter whether a team still borrows when one of its jobs leaves."""
        self._draft = draft
        self._lent = lent
        self._ledger = draft.projected.fork()
        self._team = team
        self._entitled = entitled
        self._told: dict[TeamPath, int] = {}
        self.chosen: dict[tuple[JobId, int], Victim] = {}
        """By job and first rank given up; -1 for a job that leaves as a whole."""
        self.has_refused = False
        """True once a victim was refused that might have been admitted without those chosen before it."""

    def admits_all(self, victims: Iterable[Victim]) -> bool:
        """Choose all of these, one after another; false when one of them may not be chosen."""
        for victim in victims:
            if not self.admits(victim):
                return False
            self.add(victim)
        return True

    def admits(self, victim: Victim) -> bool:
        """True when this victim may be chosen in addition to those chosen already."""
        job = victim.job
        if (job.id, -1) in self.chosen:
            return False
        if victim.workers:
            given_up = sum(len(other.workers) for other in self._given_up(victim))
            return given_up + len(victim.workers) <= spare_workers(job) and self._others_still_borrow(victim)
        told = self._told.get(job.spec.team, 0)
        is_lawful = told < may_take_from(self._draft, job.spec.team) and self.still_borrows(victim)
        self.has_refused |= not is_lawful and bool(self.chosen)
        return is_lawful

    def still_borrows(self, victim: Victim) -> bool:
        """True unless the victim has to leave only because its team borrows, and the team does not any more."""
        if not self._lent or not only_as_borrower(self._ledger, self._team, self._entitled, victim):
            return True
        branches = self._ledger.branches(self._team, victim.job.spec.team)
        return branches is not None and self._ledger.is_borrowing(branches[1], victim.demand)

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
        if not self._lent:
            return True
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


def more_than_is_lent(
    draft: PlanDraft, team: TeamPath, entitled: tuple[TeamPath, ...], victims: Iterable[Victim]
) -> bool:
    """True when a team may not take back the place of all these jobs: before the last has left they borrow no more."""
    tally = VictimTally(draft, team, entitled)
    for victim in sorted(victims, key=borrowers_first):
        if not tally.still_borrows(victim):
            return True
        tally.add(victim)
    return False
