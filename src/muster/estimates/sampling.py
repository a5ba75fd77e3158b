"""What is left to chance in one possible future: how long jobs still run, and who else submits.

Both are drawn from what the cluster has seen. The same seed draws the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import NormalDist

from muster.core.order.run_times import RunTimes
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.policy import HOUR_MS
from muster.model.spec import JobSpec

NEWCOMER = "~"
"""How the ids of jobs begin that nobody has submitted yet; among equals they come last."""

CLUSTER_SHARE, KIN_SHARE, OWN_SHARE = 0.1, 0.4, 0.5
"""What a job's luck is made of: everybody's, that of all jobs of its team, name and size, and its own. Sweeps end
together and bad days are bad for all; if every job had luck of its own, a long queue would average it away and every
future would be the same."""

_BELL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Somebody submitted this then."""

    submitted_ms: int
    spec: JobSpec


class FutureSample:
    """One sequence of draws."""

    def __init__(self, run_times: RunTimes, seed: str) -> None:
        self._run_times = run_times
        self._chance = Random(seed)
        self._cluster = self._chance.normalvariate()
        self._kin: dict[tuple[object, ...], float] = {}

    def left_ms(self, spec: JobSpec, ran_ms: int) -> int:
        """How much longer a job runs that has run so long already.

        Where too little was learnt the user's hint is taken; without one, a job runs half of the time as long again as
        it has run so far, and nine times in ten not more than nine times as long.
        """
        permille = self._permille(spec)
        learnt_ms = self._run_times.quantile_ms(spec, permille + 1, ran_ms=ran_ms)
        if learnt_ms is not None:
            return learnt_ms
        if spec.expected_duration_ms is not None and spec.expected_duration_ms > ran_ms:
            return spec.expected_duration_ms - ran_ms
        return 1 + max(ran_ms, HOUR_MS) * permille // (1000 - permille)

    def _permille(self, spec: JobSpec) -> int:
        """A thousandth drawn evenly, close to those of its kin."""
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
        """Who will submit from now on: what came recently comes again, from some moment on and round and round.

        Bursts stay bursts, and who submits many small jobs goes on to. `recent` is in the order of time.
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
