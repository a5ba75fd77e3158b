"""How long a job can wait: which jobs are in front of it, and how much of the cluster they take first.

While a job waits, so many slots for its workers are taken that its gang does not fit. Jobs in front of it take them, or
jobs behind it that cannot be told to leave yet. An older job is in front until it has had as much GPU time as ends the
band of the waiting job, a younger one until it has had as much as begins that band (`core.order.service`). So the time
of all jobs together, each times the slots that it can take, over the slots that must be taken at least, is the longest
that the job can wait if no other job comes, and none behind it starts in a gap that is too small for it.

Where teams are weighed, jobs of other teams count as older, because the team with the lower share goes first.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.gang import Gang
from muster.core.order.run_times import began_ms
from muster.core.order.service import (
    aged_ms,
    band_begins_gpu_ms,
    band_ends_gpu_ms,
    band_of,
    had_gpu_ms,
    running_place,
)
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import SETTLING_MS
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import JobSpec


class InFront(NamedTuple):
    """The jobs in front of a waiting job."""

    jobs: int
    gpu_milli: int
    """What they need together."""
    wait_ms: int | None
    """The longest that the job can wait for them. None where that is not known: if the gang has several roles or tensor
    groups or does not fit into the nodes that take work now, and where teams have guarantees or limits."""
    slots: int
    """How many slots must be taken at least while the job waits; 0 where that is not known."""
    behind: int
    """How many running jobs with a worse place have what the job could use."""
    yielding: int
    """How many of these can be told to leave for it in time."""


class _Contender(NamedTuple):
    """A job that has not ended, as the jobs that wait see it."""

    aged_ms: int
    job: JobId
    tier: int
    band: int
    spec: JobSpec
    had_gpu_ms: int
    yields: bool
    """True when it can be told to leave for a job of its tier."""
    starved: bool
    left_ms: int
    """How long it still runs at most, by its limit."""
    kept_ms: int
    """How long it still has its GPUs although a job of a better band wants them; 0 while it waits."""
    kept_in_band_ms: int
    """The same for an older job of its own band."""
    grace_ms: int


class _Part(NamedTuple):
    """What contenders add to a wait. The time is in slots times milliseconds."""

    jobs: int
    gpu_milli: int
    slot_ms: int
    behind: int = 0
    yielding: int = 0


class WaitBounds:
    """Answers for all jobs that wait in one situation. What is found out for one job is kept for jobs like it."""

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._setting = snapshot.setting
        self._turn_ms = snapshot.turn_ms or 0
        self._contenders = self._found()
        self._idle: Capacity | None = None
        self._slots: dict[int, int] = {}
        self._lines: dict[tuple[int, int, bool, Request], _Line] = {}

    def in_front(self, job: WaitingJob) -> InFront:
        """The jobs in front of a job that may be considered, and how long it can wait for them."""
        number, gang = self._snapshot.queue.gang(job)
        slots = self._slots.get(number)
        if slots is None:
            slots = self._slots[number] = self._least_taken(gang)
        tier, policy = self._setting.tier_rank[job.spec.tier], self._setting.policy
        band = band_of(job.attained_gpu_ms, starved=job.starved)
        request = job.spec.roles[0].request
        key = (tier, band, self._stops_lower(job), request)
        line = self._lines.get(key)
        if line is None:
            parts = [(each, *self._parts(each, key)) for each in self._contenders]
            line = self._lines[key] = _Line(parts, by_team=policy.weighs_teams)
        part = line.before(job, aged_ms(job, policy))
        reserved = -(-self._setting.turn_reserve_milli // max(request.gpu_milli, 1)) if band else 0
        slots = max(slots - reserved, 0)
        wait_ms = part.slot_ms // slots if slots else None
        return InFront(part.jobs, part.gpu_milli, wait_ms, slots, part.behind, part.yielding)

    def _found(self) -> list[_Contender]:
        waiting = [self._waiting(job) for job in self._snapshot.queue.considered()]
        return waiting + [self._running(job) for job in self._snapshot.running.values()]

    def _waiting(self, job: WaitingJob) -> _Contender:
        setting, spec = self._setting, job.spec
        return _Contender(
            aged_ms=aged_ms(job, setting.policy),
            job=job.id,
            tier=setting.tier_rank[spec.tier],
            band=band_of(job.attained_gpu_ms, starved=job.starved),
            spec=spec,
            had_gpu_ms=job.attained_gpu_ms,
            yields=self._yields(spec),
            starved=job.starved,
            left_ms=setting.limit_ms(spec),
            kept_ms=0,
            kept_in_band_ms=0,
            grace_ms=setting.grace_ms(spec),
        )

    def _running(self, job: RunningJob) -> _Contender:
        setting, spec, now_ms = self._setting, job.spec, self._now_ms
        place = running_place(job, setting.policy, now_ms)
        left_ms = max(self._snapshot.timetable.end_ms[job.id] - now_ms, 0)
        settled_ms = max(job.started_ms + SETTLING_MS, began_ms(job) + setting.policy.min_runtime_ms)
        kept_ms = max(settled_ms - now_ms, 0)
        in_band_ms = max(kept_ms, job.started_ms + self._turn_ms - now_ms)
        is_told = job.leaving_by_ms is not None
        return _Contender(
            aged_ms=place.aged_ms,
            job=job.id,
            tier=setting.tier_rank[spec.tier],
            band=place.band,
            spec=spec,
            had_gpu_ms=had_gpu_ms(job, now_ms),
            yields=self._yields(spec),
            starved=job.starved,
            left_ms=left_ms,
            kept_ms=left_ms if is_told else kept_ms,
            kept_in_band_ms=left_ms if is_told else in_band_ms,
            grace_ms=setting.grace_ms(spec),
        )

    def _yields(self, spec: JobSpec) -> bool:
        return spec.can_resume and spec.preemptible and self._setting.tier(spec.tier).preemptible

    def _parts(self, each: _Contender, key: tuple[int, int, bool, Request]) -> tuple[_Part, _Part]:
        """What a contender adds to the wait of a job of this tier, band and request: if it is older, and if not."""
        tier, band, stops_lower, request = key
        taken = slots_taken(each.spec, request)
        if each.tier != tier:
            part = self._part_of_tier(each, tier, stops_lower=stops_lower, taken=taken)
            return part, part
        settling_ms = max(self._setting.policy.min_runtime_ms, SETTLING_MS)
        turn_ms = max(settling_ms, self._turn_ms)
        older = younger = self._behind(each, taken, self._behind_ms(each, is_equal=False))
        if each.band <= band:
            older = self._front(each, band_ends_gpu_ms(band), settling_ms, taken)
            younger = self._behind(each, taken, self._behind_ms(each, is_equal=True))
        if each.band < band:
            younger = self._front(each, band_begins_gpu_ms(band), turn_ms, taken)
        return older, younger

    def _stops_lower(self, job: WaitingJob) -> bool:
        """True when a job of a lower tier alone can be told to leave for a job.

        A job that was preempted itself stops none. And jobs of lower tiers never leave together with jobs of its own
        tier, so that a gang which needs more than one GPU may need both and wait.
        """
        is_single = job.spec.gang_gpu_milli <= GPU_MILLI
        return is_single and not job.requeued and self._setting.tier(job.spec.tier).preempts

    def _part_of_tier(self, each: _Contender, tier: int, *, stops_lower: bool, taken: int) -> _Part:
        """The same for a contender of another tier."""
        if each.tier < tier:
            return _in_front(each, taken, each.left_ms + each.grace_ms)
        if each.job not in self._snapshot.running:
            return _NOTHING
        is_safe = not (each.spec.preemptible and self._setting.tiers[each.tier].preemptible)
        kept_ms = self._setting.policy.min_runtime_ms if stops_lower and not is_safe else each.left_ms
        return self._behind(each, taken, kept_ms + each.grace_ms)

    def _behind(self, each: _Contender, taken: int, kept_ms: int) -> _Part:
        """A job with a worse place. It counts while it runs, and only if it has what the other could use."""
        is_there = int(each.job in self._snapshot.running and taken > 0)
        return _Part(0, 0, taken * kept_ms, is_there, is_there * int(each.yields))

    def _front(self, each: _Contender, until_gpu_ms: int | None, then_ms: int, taken: int) -> _Part:
        """A job in front until it has had so much GPU time, and then for as long as it cannot be told to leave."""
        gpu_milli = each.spec.gang_gpu_milli
        front_ms = each.left_ms
        if each.yields and not each.starved and until_gpu_ms is not None:
            front_ms = max(until_gpu_ms - each.had_gpu_ms, 0) * GPU_MILLI // max(gpu_milli, 1) + then_ms
        return _in_front(each, taken, front_ms + 2 * each.grace_ms)

    def _behind_ms(self, each: _Contender, *, is_equal: bool) -> int:
        """How long a running job with a worse place still has its GPUs."""
        if each.job not in self._snapshot.running:
            return 0
        if not each.yields:
            return each.left_ms + each.grace_ms
        return (each.kept_in_band_ms if is_equal else each.kept_ms) + each.grace_ms

    def _least_taken(self, gang: Gang) -> int:
        """How many slots must be taken at least if a gang of one role fits nowhere; 0 where that is not known."""
        has_quotas = any(team.guaranteed or team.limit for team in self._snapshot.ledger.teams.values())
        if has_quotas or len(gang.parts) != 1 or gang.parts[0].group > 1:
            return 0
        if self._idle is None:
            self._idle = Capacity.of(self._setting.tree, FreeStates(), self._setting.pools)
        least = 0
        for ask in dict.fromkeys(choice.asks[0] for choice in gang.choices):
            counts = self._idle.view(ask).counts(gang.prefer)
            least = max(least, sum(max(count - gang.parts[0].workers + 1, 0) for count in counts))
        return least


class _Line:
    """All contenders as jobs of one tier, band and request see them, sorted by age."""

    def __init__(self, parts: list[tuple[_Contender, _Part, _Part]], *, by_team: bool) -> None:
        self._by_team = by_team
        self._own = {each.job: older for each, older, _ in parts}
        self._all = _NOTHING
        teams: dict[str, list[tuple[_Contender, _Part, _Part]]] = {}
        for entry in sorted(parts, key=lambda entry: entry[0].aged_ms):
            teams.setdefault(self._team(entry[0].spec), []).append(entry)
            self._all = _plus(self._all, entry[1])
        self._ages = {team: [each.aged_ms for each, _, _ in entries] for team, entries in teams.items()}
        self._older = {
            team: list(accumulate((older for _, older, _ in entries), _plus, initial=_NOTHING))
            for team, entries in teams.items()
        }
        self._younger = {
            team: list(accumulate((younger for _, _, younger in entries), _plus, initial=_NOTHING))
            for team, entries in teams.items()
        }

    def before(self, job: WaitingJob, job_aged_ms: int) -> _Part:
        """What all other contenders add to the wait of a job. A job of the same age counts as older."""
        team = self._team(job.spec)
        older, younger = self._older[team], self._younger[team]
        at = bisect_right(self._ages[team], job_aged_ms)
        found = _plus(_minus(self._all, older[-1]), _minus(older[at], self._own[job.id]))
        return _plus(found, _minus(younger[-1], younger[at]))

    def _team(self, spec: JobSpec) -> str:
        return spec.team if self._by_team else ""


_NOTHING = _Part(0, 0, 0)


def slots_taken(spec: JobSpec, request: Request) -> int:
    """How many slots for workers with this request a gang of its smallest size can take at most."""
    return sum(role.workers_min * _taken_by(role.request, request) for role in spec.roles)


def _taken_by(worker: Request, request: Request) -> int:
    amounts = (
        (worker.gpu_milli, request.gpu_milli),
        (worker.cpu_milli, request.cpu_milli),
        (worker.memory_bytes, request.memory_bytes),
        (worker.disk_bytes, request.disk_bytes),
    )
    return max([-(-used // asked) for used, asked in amounts if asked], default=0)


def _in_front(each: _Contender, taken: int, front_ms: int) -> _Part:
    """A job that goes first, if it takes anything that the other could use."""
    return _Part(1, each.spec.gang_gpu_milli, taken * front_ms) if taken else _NOTHING


def _plus(one: _Part, other: _Part) -> _Part:
    return _Part(*[left + right for left, right in zip(one, other, strict=True)])


def _minus(one: _Part, other: _Part) -> _Part:
    return _Part(*[left - right for left, right in zip(one, other, strict=True)])
