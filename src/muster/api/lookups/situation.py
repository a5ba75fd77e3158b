"""The copy of the state from which explanations and estimates are worked out on another thread."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muster.core.explaining.place_in_tier import RecentJob, ServiceHistory
from muster.core.lifecycle.arrays import tasks_of
from muster.core.order.entitlements import Entitlements
from muster.core.order.run_times import RunTimes
from muster.core.order.service import band_of
from muster.engine.engine import Engine
from muster.engine.folding.state import State
from muster.estimates.sampling import Arrival
from muster.model.array import ArrayRecord, JobRecord
from muster.model.ids import JobId, TeamPath
from muster.model.limits import STARVED_BAND
from muster.model.plan import Plan
from muster.model.records import evolve
from muster.model.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The copy of the state that the writer hands over."""

    version: int
    scenario: Scenario
    run_times: RunTimes
    """Shared with the writer, which still changes it: copied before a long read."""
    entitlements: Entitlements
    """A copy, since entitlements change with every job that arrives or ends."""
    decided: Plan | None = None
    """The plan of the last cycle; None before the first."""
    starves_ms: Mapping[JobId, int] = field(default_factory=dict)
    """When waiting jobs will count as starved."""
    recent: tuple[Arrival, ...] = ()
    preempted: tuple[tuple[TeamPath, tuple[int, ...]], ...] = ()
    """When jobs of each team were told to leave within the hour."""

    @property
    def history(self) -> ServiceHistory:
        """What explanations need besides the scenario."""
        recent = tuple([RecentJob(each.submitted_ms, each.spec, each.gpu_ms) for each in self.recent])
        return ServiceHistory(self.starves_ms, recent, self.preempted)


def hand_over(engine: Engine, now_ms: int) -> Situation:
    """The situation with the plan of the last cycle. Called by the writer."""
    return replace(handed_over(engine.state, now_ms), decided=engine.last_plan)


def handed_over(state: State, now_ms: int) -> Situation:
    """The situation that a state describes."""
    snapshot = state.snapshot
    return Situation(
        version=state.version,
        scenario=snapshot.scenario(now_ms),
        run_times=snapshot.run_times,
        entitlements=snapshot.entitlements.copy(),
        starves_ms=_starves_ms(state, now_ms),
        preempted=snapshot.recent_preemptions.record(),
    )


def _starves_ms(state: State, now_ms: int) -> dict[JobId, int]:
    """When waiting jobs count as starved, for those to which it makes a difference."""
    if state.starvation is None:
        return {}
    late = [
        job.id
        for job in state.snapshot.queue.jobs.values()
        if band_of(job.attained_gpu_ms, starved=False) > STARVED_BAND
    ]
    times = {job: state.starvation.starves_ms(state.jobs[job], now_ms) for job in late}
    return {job: at_ms for job, at_ms in times.items() if at_ms is not None}


def arrivals_of(record: JobRecord) -> list[Arrival]:
    """A job, or each task of an array."""
    if not isinstance(record, ArrayRecord):
        return [Arrival(submitted_ms=record.submitted_ms, spec=record.spec, gpu_ms=record.attained_gpu_ms)]
    single = evolve(record.spec, array=None)
    return [Arrival(submitted_ms=record.submitted_ms, spec=single)] * len(tasks_of(record))
