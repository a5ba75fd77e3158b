"""How long jobs run, learnt from jobs that ended: quantiles over groups of similar jobs.

Jobs of one team, user, name and size tell most about the next such job. Where too few of them have ended, wider groups
(circles) are used. What is learnt is used to order jobs and to make estimates. Promises never rest on it.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque

from muster.model.job import RunningJob
from muster.model.limits import RUN_TIME_CIRCLES, RUN_TIME_WINDOW
from muster.model.records import Record
from muster.model.resources import GPU_MILLI
from muster.model.saved_state import RunTimesRecord
from muster.model.spec import JobSpec

ENOUGH = 8
"""How many longer runs a circle must have seen before its quantiles are used."""

USER_TAG = "user"
"""The tag that says who submitted a job."""

Circle = tuple[str | int, ...]
"""The key of a circle: what its jobs have in common."""


_MEDIAN = 500


class UsualRun(Record, frozen=True, kw_only=True):
    """How many runs of similar jobs are known, and how long half of them took at most."""

    runs: int
    median_ms: int
    """0 when no run is known."""


class RunTimes:
    """Everything learnt so far. The same endings in the same order give the same expectations."""

    def __init__(self) -> None:
        self._circles: dict[Circle, _Window] = {}

    @classmethod
    def of(cls, record: tuple[RunTimesRecord, ...]) -> "RunTimes":
        """What was learnt by the time of the record."""
        made = cls()
        for each in record:
            made._circles[each.alike] = _Window(each.run_ms)
        return made

    def record(self) -> tuple[RunTimesRecord, ...]:
        """Everything learnt, sorted so that the circle that was updated longest ago comes first."""
        return tuple(RunTimesRecord(alike=circle, run_ms=window.latest()) for circle, window in self._circles.items())

    def learn(self, spec: JobSpec, run_ms: int) -> None:
        """A job ended by itself after running this long, all attempts together."""
        for circle in circles_of(spec):
            window = self._circles.pop(circle, None)
            if window is None:
                self._forget_oldest()
                window = _Window()
            window.add(run_ms)
            self._circles[circle] = window

    def quantile_ms(self, spec: JobSpec, permille: int, *, ran_ms: int = 0) -> int | None:
        """The quantile of how much longer jobs like this one run after `ran_ms`; None while too little is known."""
        for circle in circles_of(spec):
            window = self._circles.get(circle)
            if window is not None and window.longer_than(ran_ms) >= ENOUGH:
                return window.quantile(permille, ran_ms) - ran_ms
        return None

    def runs_in(self, circle: Circle) -> tuple[int, ...]:
        """The run times that are known of a circle, the shortest first."""
        window = self._circles.get(circle)
        return () if window is None else window.in_order()

    def usual(self, spec: JobSpec) -> "UsualRun":
        """What is known of jobs like this one: of the narrowest circle that has seen enough, or else of all jobs."""
        widest = _Window()
        for circle in circles_of(spec):
            widest = self._circles.get(circle, widest)
            if widest.longer_than(0) >= ENOUGH:
                break
        runs = widest.longer_than(0)
        return UsualRun(runs=runs, median_ms=widest.quantile(_MEDIAN, 0) if runs else 0)

    def copy(self) -> "RunTimes":
        """A copy for another thread to read, while this object goes on learning."""
        made = RunTimes()
        made._circles = {circle: window.copy() for circle, window in list(self._circles.items())}
        return made

    def _forget_oldest(self) -> None:
        """Keep memory bounded: drop the circle that was updated longest ago."""
        if len(self._circles) >= RUN_TIME_CIRCLES:
            del self._circles[next(iter(self._circles))]


class _Window:
    """The latest run times of one circle, in the order they came. Also kept sorted from the first query on."""

    __slots__ = ("_latest", "_sorted")

    def __init__(self, latest: tuple[int, ...] = ()) -> None:
        self._latest: deque[int] = deque(latest)
        self._sorted: list[int] | None = None

    def add(self, run_ms: int) -> None:
        latest, known = self._latest, self._sorted
        gone = latest.popleft() if len(latest) == RUN_TIME_WINDOW else None
        latest.append(run_ms)
        if known is not None:
            if gone is not None:
                del known[bisect_left(known, gone)]
            insort(known, run_ms)

    def copy(self) -> "_Window":
        made = _Window()
        made._latest = self._latest.copy()
        made._sorted = None if self._sorted is None else self._sorted.copy()
        return made

    def latest(self) -> tuple[int, ...]:
        """The run times in the order they came."""
        return tuple(self._latest)

    def in_order(self) -> tuple[int, ...]:
        """The run times from the shortest on."""
        return tuple(self._in_order())

    def longer_than(self, ran_ms: int) -> int:
        """How many run times are longer than `ran_ms`."""
        known = self._in_order()
        return len(known) - bisect_right(known, ran_ms)

    def quantile(self, permille: int, ran_ms: int) -> int:
        """The nearest-rank quantile of the run times longer than `ran_ms`."""
        known = self._in_order()
        first = bisect_right(known, ran_ms)
        return known[first + max(-(-(len(known) - first) * permille // 1000) - 1, 0)]

    def _in_order(self) -> list[int]:
        # Most circles are never queried. Only a circle that was queried is kept sorted.
        if self._sorted is None:
            self._sorted = sorted(self._latest)
        return self._sorted


def run_ms(spec: JobSpec, gpu_ms: int) -> int:
    """How long a job has run, computed from the GPU time it received."""
    return gpu_ms * GPU_MILLI // max(spec.gang_gpu_milli, 1)


def began_ms(job: RunningJob) -> int:
    """When a job would have begun had it run without interruption."""
    return job.started_ms - run_ms(job.spec, job.attained_gpu_ms)


def circles_of(spec: JobSpec) -> tuple[Circle, ...]:
    """The circles a job belongs to, the narrowest first."""
    team, size, user = spec.team, spec.gang_gpu_milli, ""
    for key, value in spec.tags:
        if key == USER_TAG:
            user = value
            break
    return (
        (team, user, spec.name, size),
        (team, user, size),
        (team, size),
        (size,),
        (),
    )
