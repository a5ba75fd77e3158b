"""Running jobs that may be told to leave for a job of their tier, by tier and band, oldest first.

When a job becomes one of them, and when it enters the next band, is known when it starts. So the lists are kept from
plan to plan: a job that ends is taken out, and the clock takes jobs in and from band to band. The lists follow from the
jobs and the time, so a reader may bring them up to date.
"""

from bisect import bisect_left, insort

from muster.core.cluster.node_use import Footprint
from muster.model.ids import JobId, TierName

TurnCandidate = tuple[int, int, JobId, Footprint, int]
"""When a job was submitted, with priority counted as age, and started; its id, what it occupies and its GPUs in
thousandths. Ids differ, so the rest is never compared."""

Steps = list[tuple[int, int]]
"""When a job may be told to leave from, and when it enters each later band: times with the band."""


class _Course:
    """How far a job has come in its steps."""

    __slots__ = ("candidate", "passed", "steps", "tier")

    def __init__(self, tier: TierName, candidate: TurnCandidate, steps: Steps) -> None:
        self.tier = tier
        self.candidate = candidate
        self.steps = steps
        self.passed = 0


class TurnCandidates:
    """The jobs of all tiers. Every question says what time it is."""

    def __init__(self) -> None:
        self._courses: dict[JobId, _Course] = {}
        self._next: list[tuple[int, JobId]] = []
        """When each job takes its next step, soonest first."""
        self._bands: dict[tuple[TierName, int], list[TurnCandidate]] = {}
        self._gpu_milli: dict[tuple[TierName, int], int] = {}
        self._worst: dict[TierName, int] = {}
        """The worst band that a job of each tier has entered since the lists were made."""
        self._now_ms = 0

    def add(self, tier: TierName, candidate: TurnCandidate, steps: Steps) -> None:
        """A job runs that takes these steps, of which there is at least one."""
        self._courses[candidate[2]] = _Course(tier, candidate, steps)
        insort(self._next, (steps[0][0], candidate[2]))

    def remove(self, job_id: JobId) -> None:
        """A job no longer runs. No effect if it is not known."""
        course = self._courses.pop(job_id, None)
        if course is not None:
            self._take_out(course)
            if course.passed < len(course.steps):
                del self._next[bisect_left(self._next, (course.steps[course.passed][0], job_id))]

    def in_band(self, tier: TierName, band: int, now_ms: int) -> list[TurnCandidate]:
        """The jobs of a band, oldest first, and among equals the one started first. The list must not be changed."""
        self._go_to(now_ms)
        return self._bands.get((tier, band), [])

    def gpu_milli(self, tier: TierName, band: int, now_ms: int) -> int:
        """What the jobs of a band occupy, in thousandths of a GPU."""
        self._go_to(now_ms)
        return self._gpu_milli.get((tier, band), 0)

    def worst_band(self, tier: TierName, now_ms: int) -> int:
        """No job of the tier is in a worse band; -1 when there is none at all."""
        self._go_to(now_ms)
        band = self._worst.get(tier, -1)
        while band >= 0 and not self._bands.get((tier, band)):
            band -= 1
        return band

    def _go_to(self, now_ms: int) -> None:
        """Take all steps up to this time. Going back in time begins anew."""
        if now_ms < self._now_ms:
            self._begin_anew()
        self._now_ms = now_ms
        following = self._next
        while following and following[0][0] <= now_ms:
            _, job_id = following.pop(0)
            course = self._courses[job_id]
            self._take_out(course)
            steps, passed = course.steps, course.passed + 1
            while passed < len(steps) and steps[passed][0] <= now_ms:
                passed += 1
            course.passed = passed
            self._put_in(course)
            if passed < len(steps):
                insort(following, (steps[passed][0], job_id))

    def _begin_anew(self) -> None:
        self._bands, self._gpu_milli, self._worst = {}, {}, {}
        for course in self._courses.values():
            course.passed = 0
        self._next = sorted((course.steps[0][0], job_id) for job_id, course in self._courses.items())

    def _put_in(self, course: _Course) -> None:
        band = course.steps[course.passed - 1][1]
        key = (course.tier, band)
        insort(self._bands.setdefault(key, []), course.candidate)
        self._gpu_milli[key] = self._gpu_milli.get(key, 0) + course.candidate[4]
        if band > self._worst.get(course.tier, -1):
            self._worst[course.tier] = band

    def _take_out(self, course: _Course) -> None:
        if course.passed:
            key = (course.tier, course.steps[course.passed - 1][1])
            there = self._bands[key]
            del there[bisect_left(there, course.candidate)]
            self._gpu_milli[key] -= course.candidate[4]
