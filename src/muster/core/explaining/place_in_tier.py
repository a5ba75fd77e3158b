"""What a waiting job without a promise is told about its place: which jobs go first, for how long, and what then helps.

Under overload a job cannot both have a bounded wait and leave all short jobs in front (ADR 13). So it is told what its
wait follows from: the jobs that have had less GPU time, how many of them come, and when it counts as starved.
"""

from collections.abc import Mapping
from typing import NamedTuple

from muster.core.explaining.wait_bound import InFront, WaitBounds, slots_taken
from muster.core.order.service import NEWCOMERS, band_begins_gpu_ms, band_ends_gpu_ms, band_of
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, TeamPath
from muster.model.job import WaitingJob
from muster.model.limits import FAR_PROMISE_MS, STARVED_BAND
from muster.model.plan import Plan, Reason, ReasonCode
from muster.model.policy import DAY_MS, HOUR_MS, MINUTE_MS
from muster.model.resources import GPU_MILLI, gpus_text
from muster.model.spec import JobSpec

BY_PLACE = "turns"
"""The rule that reasons about places rest on."""
PER_CENT = 100
MOST_PER_CENT = 95
"""Where jobs that come take more than this, a wait that is worked out from it means nothing."""


class RecentJob(NamedTuple):
    """A job that was submitted lately, whether or not it has ended."""

    submitted_ms: int
    spec: JobSpec
    gpu_ms: int
    """GPU time that it has had so far."""


class ServiceHistory(NamedTuple):
    """What the present situation does not say about the service of jobs."""

    starves_ms: Mapping[JobId, int] = {}
    """When waiting jobs will have waited too long, as far as they are watched."""
    recent: tuple[RecentJob, ...] = ()
    """Oldest first; empty where it is not known."""
    preempted: tuple[tuple[TeamPath, tuple[int, ...]], ...] = ()
    """When jobs of each team were told to leave within the hour; empty where only their number is known."""


def places_in_tier(snapshot: Snapshot, plan: Plan, history: ServiceHistory | None) -> "PlacesInTier | None":
    """The places of the jobs that a plan leaves waiting; None where jobs take no turns."""
    if not snapshot.setting.policy.takes_turns or snapshot.turn_ms is None:
        return None
    return PlacesInTier(snapshot, plan, history or ServiceHistory())


class PlacesInTier:
    """Tells the jobs of one situation about their places."""

    def __init__(self, snapshot: Snapshot, plan: Plan, history: ServiceHistory) -> None:
        self._snapshot = snapshot
        self._now_ms = plan.now_ms
        self._history = history
        self._promised = {promise.job: None for promise in plan.promises}
        self._bounds: WaitBounds | None = None
        self._loads: dict[tuple[object, ...], int] = {}

    def reason(self, job_id: JobId) -> Reason | None:
        """What keeps a job waiting by its place, and what is to come; None for a job with a promise."""
        job = self._snapshot.queue.jobs.get(job_id)
        if job is None or job_id in self._promised:
            return None
        if self._bounds is None:
            self._bounds = WaitBounds(self._snapshot, self._now_ms)
        front = self._bounds.in_front(job)
        if not front.jobs and not front.behind:
            return None
        helps = [self._wait(job, front), *self._with_others(job, front), *self._starved(job)]
        return Reason(
            code=ReasonCode.HELD_BY_OTHERS,
            message=self._who(job, front),
            would_help="; ".join(helps),
            rule=BY_PLACE,
        )

    def _who(self, job: WaitingJob, front: InFront) -> str:
        if not front.jobs:
            until = "their turn is over or they settled" if front.yielding else "they end, because they cannot resume"
            return f"no job goes before it, but jobs behind it keep their GPUs until {until}"
        band = band_of(job.attained_gpu_ms, starved=job.starved)
        others = " and those of other teams" if self._snapshot.setting.policy.weighs_teams else ""
        first = f"older jobs{others} that have had less than {_gpu_hours(band_ends_gpu_ms(band))}"
        if band > NEWCOMERS:
            ends = band_ends_gpu_ms(band)
            upto = f" with less than {_gpu_hours(ends)}" if ends is not None else ""
            first = (
                f"jobs that have had less than {_gpu_hours(band_begins_gpu_ms(band))}, and older ones{others}{upto},"
            )
        verb = "wants" if front.jobs == 1 else "want"
        all_gpus = gpus_text(self._snapshot.setting.gpu_milli)
        return f"{first} go first: {front.jobs} of them {verb} {gpus_text(front.gpu_milli)} of {all_gpus} GPUs"

    def _wait(self, job: WaitingJob, front: InFront) -> str:
        """The bound, if it means anything."""
        if front.wait_ms is None or front.wait_ms > FAR_PROMISE_MS:
            return "these jobs ending or having had more"
        gaps = " and none fills a gap" if job.spec.gang_gpu_milli > GPU_MILLI else ""
        return f"nothing needed: it starts within {_time(front.wait_ms)} if no other job comes{gaps}"

    def _with_others(self, job: WaitingJob, front: InFront) -> list[str]:
        """The same if jobs go on coming as they did lately."""
        recent = self._history.recent
        if not recent or front.wait_ms is None:
            return []
        lately, load = f"as in the last {_time(self._now_ms - recent[0].submitted_ms)}", self._load_per_cent(job, front)
        if load > MOST_PER_CENT:
            return [f"jobs that come {lately} keep it waiting for as long as they do"]
        left, within_ms = PER_CENT - load, front.wait_ms * PER_CENT // (PER_CENT - load)
        within = f"within {_time(within_ms)}, and " if within_ms <= FAR_PROMISE_MS else ""
        return [f"with jobs coming {lately}, {within}an hour of its run takes {_tenths(PER_CENT * 10 // left)} h"]

    def _load_per_cent(self, job: WaitingJob, front: InFront) -> int:
        """Which part of what it needs goes to jobs that come later, each counted for as long as it is in front."""
        band, spec = band_of(job.attained_gpu_ms, starved=job.starved), job.spec
        key = (band, spec.tier, spec.team, spec.roles[0].request, front.slots)
        if key not in self._loads:
            slot_ms = sum(self._taken_by(each, spec, band) for each in self._history.recent)
            span_ms = max(self._now_ms - self._history.recent[0].submitted_ms, 1)
            self._loads[key] = slot_ms * PER_CENT // (span_ms * max(front.slots, 1))
        return self._loads[key]

    def _taken_by(self, each: RecentJob, spec: JobSpec, band: int) -> int:
        rank, policy = self._snapshot.setting.tier_rank, self._snapshot.setting.policy
        theirs = rank.get(each.spec.tier, len(rank))
        if theirs > rank[spec.tier] or not each.spec.gang_gpu_milli:
            return 0
        is_other = policy.weighs_teams and each.spec.team != spec.team
        until_gpu_ms = band_ends_gpu_ms(band) if is_other else band_begins_gpu_ms(band)
        is_bounded = theirs == rank[spec.tier] and until_gpu_ms is not None
        gpu_ms = min(each.gpu_ms, until_gpu_ms or 0) if is_bounded else each.gpu_ms
        return slots_taken(each.spec, spec.roles[0].request) * gpu_ms * GPU_MILLI // each.spec.gang_gpu_milli

    def _starved(self, job: WaitingJob) -> list[str]:
        """When a job counts as starved. That helps only a job beyond the band in which such jobs have their place."""
        if band_of(job.attained_gpu_ms, starved=False) <= STARVED_BAND:
            return []
        place = _gpu_hours(band_ends_gpu_ms(STARVED_BAND))
        if job.starved:
            return [f"it has starved, so it has the place of a job with less than {place}"]
        at_ms = self._history.starves_ms.get(job.id)
        if at_ms is None:
            return []
        gives = f"the place of a job with less than {place} once the part for starved jobs has room"
        if at_ms <= self._now_ms:
            return [f"it has waited long enough to count as starved, and gets {gives}"]
        return [f"if it still waits in {_time(at_ms - self._now_ms)} it counts as starved, and gets {gives}"]


def _gpu_hours(gpu_ms: int | None) -> str:
    hours = (gpu_ms or 0) // HOUR_MS
    return f"{hours:,} GPU hour{'' if hours == 1 else 's'}"


def _tenths(tenths: int) -> str:
    whole, part = divmod(tenths, 10)
    return f"{whole}.{part}" if part else str(whole)


def _time(ms: int) -> str:
    """A time in words, rounded up."""
    for unit_ms, name, least in ((DAY_MS, "days", 3), (HOUR_MS, "h", 2)):
        if ms >= least * unit_ms:
            return f"{-(-ms // unit_ms)} {name}"
    return f"{max(-(-ms // MINUTE_MS), 1)} min"
