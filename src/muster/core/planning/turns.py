"""Which running jobs may be told to leave for a job of their own tier: those that have a worse place than it.

The place of a job is its band of GPU time, and inside a band its age (`core.order.service`). Only jobs that can resume
leave. Every job first runs for as long as any job may, and a job that was started again is left alone until it has
settled. To a job of its own band it leaves only after a turn, because there both have had about the same.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator

from muster.core.order.queueing import JobClass
from muster.core.order.service import NEWCOMERS, ServicePlace, aged_ms, running_place
from muster.core.planning.draft import PlanDraft
from muster.core.planning.fair_position import is_ahead, is_settled
from muster.core.planning.room_search import Candidate
from muster.core.planning.victims import Lent, may_take_from
from muster.model.ids import JobId, TeamPath
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import SETTLING_MS
from muster.model.policy import Order

LARGE_FACTOR = 16
"""A job that has more than so many times the GPUs leaves for a smaller one only if nothing else makes room."""

LOOKED_AT = 8
"""How many running jobs are looked at to find the time of the next plan. A plan that is made too early does no harm."""


class Turns:
    """The jobs of each tier and band that may be told to leave in this cycle, worst place first."""

    def __init__(self, draft: PlanDraft) -> None:
        self._draft = draft
        self._bands: dict[tuple[int, int], list[Candidate]] = {}

    def worse_than(self, tier: int, place: ServicePlace, gpu_milli: int) -> Iterator[list[Candidate]]:
        """The jobs that leave for a job with this place and size, worst place first: of one band, of two, and so on.

        Jobs that are many times as large come only after that. A restart costs them most, and it takes long until as
        many GPUs are free again.
        """
        running, most_milli = self._draft.snapshot.running, gpu_milli * LARGE_FACTOR
        worse, fitting = list[Candidate](), list[Candidate]()
        for found in self._worse_by_band(tier, place):
            worse += found
            modest = [each for each in found if running[each.job].spec.gang_gpu_milli <= most_milli]
            if modest:
                fitting = fitting + modest
                yield fitting
        if len(worse) > len(fitting):
            yield worse

    def has_worse(self, tier: int, place: ServicePlace) -> bool:
        """True when some job leaves for a job with this place."""
        top = self._top(tier)
        if any(self._band(tier, band) for band in range(top, place.band, -1)):
            return True
        return top >= place.band and bool(self._equals(tier, place))

    def _worse_by_band(self, tier: int, place: ServicePlace) -> Iterator[list[Candidate]]:
        for band in range(self._top(tier), place.band - 1, -1):
            found = self._band(tier, band) if band > place.band else self._equals(tier, place)
            if found:
                yield found

    def ahead(self, tier: int) -> list[Candidate]:
        """The jobs that leave fast GPUs to a job that would begin on slower ones.

        They are no newcomers, have not starved, are ahead of their fair share, could continue on slower GPUs, and are
        settled.
        """
        running = self._draft.snapshot.running
        return [
            candidate
            for band in range(self._top(tier), NEWCOMERS, -1)
            for candidate in self._band(tier, band)
            if _can_step_down(self._draft, running[candidate.job])
        ]

    def has_any(self, tier: int) -> bool:
        """False when no job of the tier can be told to leave."""
        return any(self._band(tier, band) for band in range(self._top(tier), NEWCOMERS, -1))

    def place(self, group: JobClass, job: WaitingJob) -> ServicePlace:
        """The place of a waiting job. Where its policy does not go by age, it is the youngest of its band."""
        policy = self._draft.policy
        by_age = policy.order in (Order.FAIR, Order.FIFO)
        return ServicePlace(group.band, aged_ms(job, policy) if by_age else self._draft.now_ms)

    def first_place(self, group: JobClass) -> ServicePlace:
        """The place of the first job of a class."""
        return self.place(group, self._draft.snapshot.queue.jobs[group.head[-1]])

    def unsheltered(self, candidates: list[Candidate], sheltered: Lent) -> list[Candidate]:
        """Those that are in none of these groups, and whose team may still lose a job within the hour."""
        running, left, found = self._draft.snapshot.running, dict[TeamPath, int](), list[Candidate]()
        for each in candidates:
            job = running[each.job]
            if sheltered and self._draft.snapshot.preemptibles.group_of(each.job) in sheltered:
                continue
            team = job.spec.team
            if team not in left:
                left[team] = may_take_from(self._draft, team)
            if left[team] > 0:
                left[team] -= 1
                found.append(each)
        return found

    def leave(self, job_id: JobId) -> None:
        """A job was told to leave or to shrink: it cannot be told again."""
        for key, candidates in self._bands.items():
            self._bands[key] = [each for each in candidates if each.job != job_id]

    def _top(self, tier: int) -> int:
        """The worst band that has a job; -1 where jobs of the tier take no turns."""
        draft = self._draft
        if not takes_turns(draft):
            return -1
        return draft.snapshot.service.candidates.worst_band(draft.setting.tiers[tier].name, draft.now_ms)

    def _equals(self, tier: int, place: ServicePlace) -> list[Candidate]:
        """Younger jobs of the same band that have had their turn."""
        turn_began_ms = self._draft.now_ms - (self._draft.snapshot.turn_ms or 0)
        found: list[Candidate] = []
        for each in self._band(tier, place.band):
            if each.rank[1] <= place.aged_ms:
                break
            if each.started_ms <= turn_began_ms:
                found.append(each)
        return found

    def _band(self, tier: int, band: int) -> list[Candidate]:
        known = self._bands.get((tier, band))
        if known is None:
            known = self._bands[(tier, band)] = self._find(tier, band)
        return known

    def _find(self, tier: int, band: int) -> list[Candidate]:
        """The jobs of a band, youngest first, and among equals the one started last."""
        draft = self._draft
        name = draft.setting.tiers[tier].name
        listed = draft.snapshot.service.candidates.in_band(name, band, draft.now_ms)
        found = [
            Candidate(ServicePlace(band, aged), started_ms, job_id, footprint)
            for aged, started_ms, job_id, footprint, _ in reversed(listed)
        ]
        if draft.evictions or draft.resizes:
            return [each for each in found if each.job not in draft.evictions and each.job not in draft.resizes]
        return found


def takes_turns(draft: PlanDraft) -> bool:
    """False where the policy has no turns, and where a situation does not say how long a turn is."""
    return draft.policy.takes_turns and draft.snapshot.turn_ms is not None


def next_to_leave_ms(draft: PlanDraft, tier: int, place: ServicePlace) -> list[int]:
    """When running jobs of a tier will next have to leave for a waiting job with this place.

    A job has to because it enters a worse band, or because its turn is over. Before that it must have settled, and have
    run for as long as any job may.
    """
    snapshot, policy, now_ms = draft.snapshot, draft.policy, draft.now_ms
    name = draft.setting.tiers[tier].name

    def has_to(job: RunningJob, at_ms: int) -> bool:
        theirs = running_place(job, policy, at_ms)
        is_equal = theirs.band == place.band and at_ms - job.started_ms >= (snapshot.turn_ms or 0)
        return job.spec.tier == name and (theirs.band > place.band or (is_equal and theirs > place))

    waits = ((snapshot.timetable.begins, SETTLING_MS), (snapshot.timetable.begins, snapshot.turn_ms or 0))
    times = [_next_after(draft, times, wait_ms, has_to) for times, wait_ms in waits]
    times.append(_next_after(draft, snapshot.service.by_run_time, policy.min_runtime_ms, has_to))
    times.append(snapshot.service.next_entry_ms(name, place.band + 1, now_ms))
    return [at_ms for at_ms in times if at_ms is not None]


def _next_after(
    draft: PlanDraft, times: list[tuple[int, JobId]], wait_ms: int, has_to: Callable[[RunningJob, int], bool]
) -> int | None:
    """When a job that then has to leave has waited this long since its time. After a few others, when any has."""
    first = bisect_right(times, draft.now_ms - wait_ms, key=lambda entry: entry[0])
    following = times[first : first + LOOKED_AT]
    for since_ms, job_id in following:
        if has_to(draft.snapshot.running[job_id], since_ms + wait_ms):
            return since_ms + wait_ms
    return following[-1][0] + wait_ms if len(following) == LOOKED_AT else None


def _can_step_down(draft: PlanDraft, job: RunningJob) -> bool:
    could = job.id in draft.snapshot.paces.content_with_less and not job.starved
    return could and is_ahead(draft, job) and is_settled(draft, job)
