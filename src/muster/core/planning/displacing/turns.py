"""Which running jobs may be told to leave for a job of their own tier: those that have a worse place than it.

The place of a job is its band of GPU time, and inside a band its age (`core.order.service`). Only jobs that can resume
leave. Every job first runs for as long as any job may, and a job that was started again is left alone until it has
settled. To a job of its own band it leaves only after a turn, because there both have had about the same.
"""

from bisect import bisect_left
from collections.abc import Iterator

from muster.core.order.queueing import JobClass
from muster.core.order.service import NEWCOMERS, ServicePlace, aged_ms, running_place
from muster.core.order.turn_candidates import TurnCandidate
from muster.core.planning.displacing.fair_position import is_ahead, is_settled
from muster.core.planning.displacing.victims import Lent, may_take_from
from muster.core.planning.draft import PlanDraft
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, TeamPath, TierName
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
        self._turn_began_ms = draft.now_ms - (draft.snapshot.turn_ms or 0)
        self._lists: dict[tuple[int, int], list[TurnCandidate]] = {}
        """As the snapshot lists them, without the jobs that were told to leave or to shrink since."""

    def worse_than(self, tier: int, place: ServicePlace, gpu_milli: int) -> Iterator[list[JobId]]:
        """The jobs that leave for a job with this place and size, worst place first: of one band, of two, and so on.

        Jobs that are many times as large come only after that. A restart costs them most, and it takes long until as
        many GPUs are free again.
        """
        running, most_milli = self._draft.snapshot.running, gpu_milli * LARGE_FACTOR
        worse, fitting = list[JobId](), list[JobId]()
        for found in self._worse_by_band(tier, place):
            worse += found
            modest = [job_id for job_id in found if running[job_id].spec.gang_gpu_milli <= most_milli]
            if modest:
                fitting = fitting + modest
                yield fitting
        if len(worse) > len(fitting):
            yield worse

    def has_worse(self, tier: int, place: ServicePlace) -> bool:
        """True when some job leaves for a job with this place."""
        top = self._top(tier)
        if any(self._listed(tier, band) for band in range(top, place.band, -1)):
            return True
        turn_began_ms = self._turn_began_ms
        for aged, started_ms, _, _, _ in reversed(self._listed(tier, place.band) if top >= place.band else []):
            if aged <= place.aged_ms:
                break
            if started_ms <= turn_began_ms:
                return True
        return False

    def _worse_by_band(self, tier: int, place: ServicePlace) -> Iterator[list[JobId]]:
        for band in range(self._top(tier), place.band - 1, -1):
            found = self._youngest_first(tier, band) if band > place.band else self._equals(tier, place)
            if found:
                yield found

    def ahead(self, tier: int) -> list[JobId]:
        """The jobs that leave fast GPUs to a job that would begin on slower ones.

        They are no newcomers, have not starved, are ahead of their fair share, could continue on slower GPUs, and are
        settled.
        """
        running = self._draft.snapshot.running
        return [
            job_id
            for band in range(self._top(tier), NEWCOMERS, -1)
            for job_id in self._youngest_first(tier, band)
            if _can_step_down(self._draft, running[job_id])
        ]

    def has_any(self, tier: int) -> bool:
        """False when no job of the tier can be told to leave."""
        return any(self._listed(tier, band) for band in range(self._top(tier), NEWCOMERS, -1))

    def unsheltered(self, jobs: list[JobId], sheltered: Lent) -> list[JobId]:
        """Those that are in none of these groups, and whose team may still lose a job within the hour."""
        snapshot, left, found = self._draft.snapshot, dict[TeamPath, int](), list[JobId]()
        for job_id in jobs:
            if sheltered and snapshot.preemptibles.protection(job_id).group in sheltered:
                continue
            team = snapshot.running[job_id].spec.team
            if team not in left:
                left[team] = may_take_from(self._draft, team)
            if left[team] > 0:
                left[team] -= 1
                found.append(job_id)
        return found

    def leave(self, job_id: JobId) -> None:
        """A job was told to leave or to shrink: it cannot be told again."""
        for key, listed in self._lists.items():
            self._lists[key] = [each for each in listed if each[2] != job_id]

    def _top(self, tier: int) -> int:
        """The worst band that has a job; -1 where jobs of the tier take no turns."""
        draft = self._draft
        if not takes_turns(draft.snapshot):
            return -1
        return draft.snapshot.service.candidates.worst_band(draft.setting.tiers[tier].name, draft.now_ms)

    def _equals(self, tier: int, place: ServicePlace) -> list[JobId]:
        """Younger jobs of the same band that have had their turn."""
        found: list[JobId] = []
        for aged, started_ms, job_id, _, _ in reversed(self._listed(tier, place.band)):
            if aged <= place.aged_ms:
                break
            if started_ms <= self._turn_began_ms:
                found.append(job_id)
        return found

    def _youngest_first(self, tier: int, band: int) -> list[JobId]:
        """The jobs of a band, and among equals the one started last first."""
        return [job_id for _, _, job_id, _, _ in reversed(self._listed(tier, band))]

    def _listed(self, tier: int, band: int) -> list[TurnCandidate]:
        known = self._lists.get((tier, band))
        if known is None:
            draft = self._draft
            name, told = draft.setting.tiers[tier].name, (draft.evictions, draft.resizes)
            known = draft.snapshot.service.candidates.in_band(name, band, draft.now_ms)
            if told[0] or told[1]:
                known = [each for each in known if each[2] not in told[0] and each[2] not in told[1]]
            self._lists[(tier, band)] = known
        return known


def takes_turns(snapshot: Snapshot) -> bool:
    """False where the policy has no turns, and where a situation does not say how long a turn is."""
    return snapshot.setting.policy.takes_turns and snapshot.turn_ms is not None


def first_place(snapshot: Snapshot, group: JobClass, now_ms: int) -> ServicePlace:
    """The place of the first job of a class."""
    return place_of(snapshot, group, snapshot.queue.jobs[group.head[-1]], now_ms)


def place_of(snapshot: Snapshot, group: JobClass, job: WaitingJob, now_ms: int) -> ServicePlace:
    """The place of a waiting job. Where its policy does not go by age, it is the youngest of its band."""
    policy = snapshot.setting.policy
    by_age = policy.order in (Order.FAIR, Order.FIFO)
    return ServicePlace(group.band, aged_ms(job, policy) if by_age else now_ms)


def next_turn_ms(snapshot: Snapshot, now_ms: int, before_ms: int | None) -> int | None:
    """When the next running job will have to leave for the first waiting job of a band.

    If that is not before the given time, or if jobs take no turns, the given time.
    """
    if not takes_turns(snapshot):
        return before_ms
    first: dict[tuple[int, int], ServicePlace] = {}
    for group in snapshot.queue.classes():
        place = ServicePlace(group.band, aged_ms(snapshot.queue.jobs[group.head[-1]], snapshot.setting.policy))
        known = first.get((group.tier, group.band))
        if known is None or place < known:
            first[(group.tier, group.band)] = place
    for (tier, _), place in first.items():
        before_ms = _next_to_leave_ms(snapshot, now_ms, tier, place, before_ms)
    return before_ms


def _next_to_leave_ms(
    snapshot: Snapshot, now_ms: int, tier: int, place: ServicePlace, before_ms: int | None
) -> int | None:
    """When running jobs of a tier will next have to leave for a waiting job with this place, or the given time.

    A job has to because it enters a worse band, or because its turn is over once it is in the same band. Before that it
    must have settled, and have run for as long as any job may.
    """
    policy, name = snapshot.setting.policy, snapshot.setting.tiers[tier].name
    for band in (place.band, place.band + 1):
        enters_ms = snapshot.service.next_entry_ms(name, band, now_ms)
        if enters_ms is not None and (before_ms is None or enters_ms < before_ms):
            before_ms = enters_ms
    for times, wait_ms in (
        (snapshot.timetable.begins, SETTLING_MS),
        (snapshot.timetable.begins, snapshot.turn_ms or 0),
        (snapshot.service.by_run_time, policy.min_runtime_ms),
    ):
        before_ms = _next_after(snapshot, now_ms, times, wait_ms, name, place, before_ms)
    return before_ms


def _next_after(
    snapshot: Snapshot,
    now_ms: int,
    times: list[tuple[int, JobId]],
    wait_ms: int,
    tier: TierName,
    place: ServicePlace,
    before_ms: int | None,
) -> int | None:
    """When a job that then has to leave has waited this long since its time. After a few others, when any has.

    If that is not before the given time, the given time.
    """
    first = bisect_left(times, (now_ms - wait_ms + 1, ""))
    for number in range(first, min(first + LOOKED_AT, len(times))):
        since_ms, job_id = times[number]
        at_ms = since_ms + wait_ms
        if before_ms is not None and at_ms >= before_ms:
            return before_ms
        if number == first + LOOKED_AT - 1 or _has_to_leave(snapshot, snapshot.running[job_id], tier, place, at_ms):
            return at_ms
    return before_ms


def _has_to_leave(snapshot: Snapshot, job: RunningJob, tier: TierName, place: ServicePlace, at_ms: int) -> bool:
    """True when a job of this tier will have a worse place than this one, and in the same band has had its turn."""
    if job.spec.tier != tier:
        return False
    theirs = running_place(job, snapshot.setting.policy, at_ms)
    if theirs.band != place.band:
        return theirs.band > place.band
    return theirs > place and at_ms - job.started_ms >= (snapshot.turn_ms or 0)


def _can_step_down(draft: PlanDraft, job: RunningJob) -> bool:
    could = job.id in draft.snapshot.paces.content_with_less and not job.starved
    return could and is_ahead(draft, job) and is_settled(draft, job)
