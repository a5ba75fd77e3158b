"""What is random in one possible future: how long jobs still run, and which jobs arrive.

Both are sampled from what the cluster has seen. The same seed gives the same samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import NormalDist

from muster.estimates.survival import RunHistory
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.spec import JobSpec

NEWCOMER = "~"
"""Prefix of the ids of sampled arrivals. Among equal jobs it sorts them last."""

CLUSTER_SHARE, KIN_SHARE, OWN_SHARE = 0.1, 0.4, 0.5
"""The parts of a job's sampled run time: one shared by the whole cluster, one by all jobs of its team, name and size,
and one of its own. Jobs of a sweep end together, and bad days are bad for all jobs. If all samples were independent, a
long queue would average them away and every future would be the same."""

NEARLY_ALL = 0.999
"""No job is sampled to outlast more of the others: where only Lindy's rule is known, the mean would be infinite."""

_BELL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A job that was submitted at a time."""

    submitted_ms: int
    spec: JobSpec
    gpu_ms: int = 0
    """GPU time that it has had since."""


class FutureSample:
    """One sequence of samples."""

    def __init__(self, history: RunHistory, seed: str) -> None:
        self._history = history
        self._chance = Random(seed)
        self._cluster = self._chance.normalvariate()
        self._level = _BELL.cdf(self._cluster)
        """Where the unknown scale of run times is in its range: the same for all jobs of this future."""
        self._kin: dict[tuple[object, ...], float] = {}

    def left_ms(self, spec: JobSpec, ran_ms: int) -> int:
        """How much longer a job runs that has run for `ran_ms`.

        If too little was learnt, the user's hint is taken. Without a hint, or once the hint is exceeded, it is as
        uncertain as `survival` says. How long the jobs of this cluster run at all is then the same for the whole
        future: a long queue does not average away what nobody knows.
        """
        outlasts = self._outlasts(spec)
        known, is_enough = self._history.of(spec, ran_ms)
        if not is_enough and spec.expected_duration_ms is not None and spec.expected_duration_ms > ran_ms:
            return spec.expected_duration_ms - ran_ms
        return max(known.run_ms(ran_ms, outlasts, self._level) - ran_ms, 1)

    def _outlasts(self, spec: JobSpec) -> float:
        """The part of similar jobs that this one outlasts: a uniform sample, correlated with those of similar jobs."""
        kin = (spec.team, spec.name, spec.gang_gpu_milli)
        if kin not in self._kin:
            self._kin[kin] = self._chance.normalvariate()
        sample = (
            sqrt(CLUSTER_SHARE) * self._cluster
            + sqrt(KIN_SHARE) * self._kin[kin]
            + sqrt(OWN_SHARE) * self._chance.normalvariate()
        )
        return min(_BELL.cdf(sample), NEARLY_ALL)

    def newcomers(self, recent: Sequence[Arrival], now_ms: int) -> Iterator[WaitingJob]:
        """The jobs that arrive from now on: recent arrivals repeat in a loop, from a random moment on.

        So bursts stay bursts, and a user who submits many small jobs continues to. `recent` is in the order of time.
        """
        if not recent or recent[0].submitted_ms >= now_ms:
            return
        lap_ms = now_ms - recent[0].submitted_ms
        since_ms = recent[0].submitted_ms + self._chance.randrange(lap_ms)
        number = 0
        while True:
            for arrival in recent:
                if arrival.submitted_ms >= since_ms:
                    number += 1
                    at_ms = now_ms + arrival.submitted_ms - since_ms
                    yield WaitingJob(id=JobId(f"{NEWCOMER}{number:06}"), spec=arrival.spec, submitted_ms=at_ms)
            since_ms -= lap_ms
