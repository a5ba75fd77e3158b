"""Replays a trace under one policy and returns what happened to every job."""

import gc
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from muster.estimates.training import Habits
from muster.model.errors import InvalidInput
from muster.model.ids import GpuType, JobId
from muster.model.job import JobState
from muster.model.node import ClusterSpec
from muster.model.policy import DEFAULT_TIERS, Pool, Tier
from muster.model.resources import GPU_MILLI
from muster.model.team import Team
from muster.model.trace import Trace, TraceJob
from muster.policies import NamedPolicy
from muster.sim.faults import FaultRates
from muster.sim.fragmentation import JobMix
from muster.sim.outcome import JobOutcome, Replay, Stint
from muster.sim.overload import Overload, Overloads
from muster.sim.run import Progress, Run
from muster.sim.speeds import GpusByType
from muster.sim.timeline import Occupied, timeline

YOUNG_OBJECTS = 400_000
"""New objects before the collector runs. There is almost no garbage that only the collector would find."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """All settings of a replay besides the trace, the cluster and the policy."""

    habits: Habits = field(default_factory=Habits)
    faults: FaultRates = field(default_factory=FaultRates)
    teams: tuple[Team, ...] = ()
    pools: tuple[Pool, ...] = ()
    tiers: tuple[Tier, ...] = DEFAULT_TIERS
    seed: int = 1
    can_resume: bool = True
    """False: the jobs of the trace lose all their work when they are stopped."""
    knows_speeds: bool = True
    """False: the scheduler is not told how fast a job runs on each GPU type."""


def replay(
    trace: Trace,
    cluster: ClusterSpec,
    policy: NamedPolicy,
    circumstances: Circumstances | None = None,
    *,
    progress: Progress | None = None,
) -> Replay:
    """Run the whole trace. The same arguments give the same outcome and the same hash in every process.

    Jobs that can never run on this cluster are rejected, as the live engine does. Jobs that still wait when nothing can
    happen any more do not finish. Jobs that ask for nothing are only counted: no policy decides about them.
    """
    jobs = _scheduled(trace)
    given = circumstances or Circumstances()
    began_s = time.process_time()
    run = Run(
        jobs,
        cluster,
        policy,
        habits=given.habits,
        faults=given.faults,
        teams=given.teams,
        pools=given.pools,
        tiers=given.tiers,
        seed=given.seed,
        can_resume=given.can_resume,
        knows_speeds=given.knows_speeds,
        progress=progress,
    )
    with _rare_collections():
        run.to_the_end()
        overloads, waits_ms = _overloads(run, cluster, given)
        outcomes = tuple([_outcome(run, place, waits_ms) for place in range(len(jobs))])
        samples = timeline(
            cluster,
            outcomes,
            _occupied(run),
            run.world.node_history,
            JobMix(record.spec for record in run.engine.state.jobs.values()),
        )
    return Replay(
        policy=policy.name,
        trace=trace.name,
        capacity_milli=sum(node.gpus for node in cluster.nodes) * GPU_MILLI,
        gpus_by_type=_gpus_by_type(cluster),
        outcomes=outcomes,
        samples=samples,
        cycles=run.cycles,
        cpu_s=time.process_time() - began_s,
        log_hash=run.log.hash,
        rejections=tuple(reason for reason, _ in Counter(run.rejected.values()).most_common()),
        dropped_plans=run.dropped_plans,
        first_drop=run.first_drop,
        overloads=overloads,
        without_resources=len(trace.jobs) - len(jobs),
    )


def _scheduled(trace: Trace) -> tuple[TraceJob, ...]:
    """The jobs that need something. The same tuple if all do, because a trace may be large."""
    if not trace.jobs:
        raise InvalidInput(f"the trace {trace.name} has no jobs")
    if not any(job.asks_for_nothing for job in trace.jobs):
        return trace.jobs
    jobs = tuple(job for job in trace.jobs if not job.asks_for_nothing)
    if not jobs:
        raise InvalidInput(
            f"no job of the trace {trace.name} asks for GPUs, CPUs or memory, so there is nothing to schedule: "
            "are gpus, cpus and mem_gb filled in?"
        )
    return jobs


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cyclic garbage hundreds of times less often than usual: a replay keeps millions of records alive."""
    usual = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _gpus_by_type(cluster: ClusterSpec) -> GpusByType:
    counts: Counter[GpuType] = Counter()
    for node in cluster.nodes:
        counts[node.gpu_type] += node.gpus
    return tuple(sorted(counts.items()))


def _occupied(run: Run) -> list[Occupied]:
    records = run.engine.state.jobs
    return [
        Occupied(*stint, records[job].spec)
        for job, training in run.world.trainings.items()
        for stint in training.stints
    ]


def _overloads(run: Run, cluster: ClusterSpec, given: Circumstances) -> tuple[tuple[Overload, ...], dict[JobId, int]]:
    """Every lasting overload, and what jobs wait because of it. Jobs that can never run are no demand."""
    jobs = [job for job in run.jobs if job.id not in run.rejected] if run.rejected else run.jobs
    demand = Overloads(jobs, cluster.nodes, pools=given.pools, teams=given.teams, can_resume=given.can_resume)
    waits_ms = {job.id: wait_ms for job, wait_ms in zip(jobs, demand.wait_ms, strict=True) if wait_ms}
    return tuple(demand.found), waits_ms


def _outcome(run: Run, place: int, waits_ms: Mapping[JobId, int]) -> JobOutcome:
    """What happened to one job of the trace."""
    job = run.jobs[place]
    record = run.engine.state.jobs.get(job.id)
    if record is None:
        return JobOutcome(job=job, state=JobState.FAILED, first_start_ms=None, end_ms=None)
    training = run.world.trainings[job.id]
    if record.state.is_final and record.state is not JobState.SUCCEEDED:
        training.write_off()
    useful, lost, saving = training.gpu_ms()
    return JobOutcome(
        job=job,
        state=record.state,
        first_start_ms=record.first_started_ms,
        end_ms=record.ended_ms,
        preemptions=record.preemptions,
        faults=training.faults,
        useful_gpu_ms=useful,
        lost_gpu_ms=lost,
        saving_gpu_ms=saving,
        slowed_gpu_ms=training.slowed // GPU_MILLI,
        overload_ms=waits_ms.get(job.id, 0),
        stints=tuple(
            [
                Stint(start_ms=start_ms, end_ms=end_ms, gpu_milli=milli, nodes=tuple([each.node for each in seats]))
                for start_ms, end_ms, milli, seats in training.stints
            ]
        ),
    )
