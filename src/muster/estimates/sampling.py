"""What is random in one possible future: how long jobs still run, and which jobs arrive.

Both are sampled from what the cluster has seen. The same seed gives the same samples.
"""

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from random import Random
from statistics import NormalDist

from muster.core.order.run_times import ENOUGH, Circle, RunTimes, circles_of
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.policy import HOUR_MS
from muster.model.spec import JobSpec

NEWCOMER = "~"
"""Prefix of the ids of sampled arrivals. Among equal jobs it sorts them last."""

CLUSTER_SHARE, KIN_SHARE, OWN_SHARE = 0.1, 0.4, 0.5
"""The parts of a job's sampled run time: one shared by the whole cluster, one by all jobs of its team, name and size,
and one of its own. Jobs of a sweep end together, and bad days are bad for all jobs. If all samples were independent, a
long queue would average them away and every future would be the same."""

UNKNOWN_MS = HOUR_MS
"""How long a job is assumed to run while nothing is known about any."""

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

    def __init__(self, run_times: RunTimes, seed: str) -> None:
        self._run_times = run_times
        self._chance = Random(seed)
        self._cluster = self._chance.normalvariate()
        self._kin: dict[tuple[object, ...], float] = {}
        self._unfinished: dict[Circle, list[int]] = {}
        """How long jobs that have begun may run in all, as sampled here, by circle; each list is sorted."""

    def left_ms(self, spec: JobSpec, ran_ms: int) -> int:
        """How much longer a job runs that has run for `ran_ms`.

        If too little was learnt, the user's hint is taken. Without a hint, or once the hint is exceeded, the median is
        as long again as the job has run so far, and the 90th percentile is nine times as long. A job that has run for
        less than is usual counts as having run for that.
        """
        permille = self._permille(spec)
        if not ran_ms:
            return self._fresh_ms(spec, permille)
        left_ms = self._rest_ms(spec, permille, ran_ms)
        for circle in circles_of(spec):
            insort(self._unfinished.setdefault(circle, []), ran_ms + left_ms)
        return left_ms

    def _fresh_ms(self, spec: JobSpec, permille: int) -> int:
        """How long a job runs that begins.

        Only short jobs have ended when a cluster is young. So jobs that have begun count beside those that have ended,
        as long as each may run in all, unless the user has given a hint.
        """
        for circle in circles_of(spec):
            begun = self._unfinished.get(circle, ()) if spec.expected_duration_ms is None else ()
            ended = self._run_times.runs_in(circle)
            if ended + len(begun) >= ENOUGH:
                if self._chance.randrange(ended + len(begun)) < len(begun):
                    return begun[len(begun) * permille // 1000]
                return self._run_times.quantile_in(circle, permille + 1)
        return self._rest_ms(spec, permille, 0)

    def _rest_ms(self, spec: JobSpec, permille: int, ran_ms: int) -> int:
        learnt_ms = self._run_times.quantile_ms(spec, permille + 1, ran_ms=ran_ms)
        if learnt_ms is not None:
            return learnt_ms
        if spec.expected_duration_ms is not None and spec.expected_duration_ms > ran_ms:
            return spec.expected_duration_ms - ran_ms
        return 1 + max(ran_ms, self._usual_ms(spec)) * permille // (1000 - permille)

    def _usual_ms(self, spec: JobSpec) -> int:
        """How long jobs like this one usually run. Where few are known, an hour counts as one of them."""
        known = self._run_times.usual(spec)
        if not known.runs:
            return UNKNOWN_MS
        return round(exp((known.runs * log(max(known.median_ms, 1)) + log(UNKNOWN_MS)) / (known.runs + 1)))

    def _permille(self, spec: JobSpec) -> int:
        """A uniform sample in thousandths, correlated with those of similar jobs."""
        kin = (spec.team, spec.name, spec.gang_gpu_milli)
        if kin not in self._kin:
            self._kin[kin] = self._chance.normalvariate()
        sample = (
            sqrt(CLUSTER_SHARE) * self._cluster
            + sqrt(KIN_SHARE) * self._kin[kin]
            + sqrt(OWN_SHARE) * self._chance.normalvariate()
        )
        return min(int(_BELL.cdf(sample) * 1000), 999)

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
