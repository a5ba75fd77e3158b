"""Small words for tiny traces: times are in seconds, GPUs are whole."""

from collections.abc import Iterable
from typing import Any

from muster.estimates.training import Habits
from muster.formats.rules.cluster_file import cluster_from_text
from muster.model.ids import GpuType, JobId, NodeName, TeamPath
from muster.model.job import JobState
from muster.model.node import ClusterSpec
from muster.model.trace import Trace, TraceJob
from muster.policies import find_policy
from muster.sim.outcome import JobOutcome, Replay, Sample, Stint
from muster.sim.replay import Circumstances, replay

S = 1000
"""A second."""


def a_trace_job(job: str, submit_s: float = 0, run_s: float = 100, gpus: float = 1, **fields: Any) -> TraceJob:
    return TraceJob(
        id=JobId(job),
        submit_ms=round(submit_s * S),
        run_ms=round(run_s * S),
        gpu_milli=round(gpus * 1000),
        team=TeamPath(fields.pop("team", "default")),
        gpu_types=tuple(GpuType(kind) for kind in fields.pop("gpu_types", ())),
        **fields,
    )


def a_trace(*jobs: TraceJob) -> Trace:
    return Trace(name="tiny", jobs=jobs)


def replayed(
    jobs: Iterable[TraceJob],
    cluster: str | ClusterSpec = "1x8",
    policy: str = "fifo",
    *,
    habits: Habits | None = None,
    **circumstances: Any,
) -> Replay:
    where = cluster_from_text(cluster) if isinstance(cluster, str) else cluster
    given = Circumstances(habits=habits or Habits(), **circumstances)
    return replay(a_trace(*jobs), where, find_policy(policy), given)


def ends_s(made: Replay) -> dict[str, float | None]:
    """When each job ended."""
    return {each.job.id: None if each.end_ms is None else each.end_ms / S for each in made.outcomes}


def an_outcome(
    job: TraceJob, start_s: float | None, end_s: float | None, *, node: str = "n1", **fields: Any
) -> JobOutcome:
    """A job that ran once from start to end."""
    stints = fields.pop("stints", None)
    if stints is None:
        stints = () if start_s is None or end_s is None else (a_stint(start_s, end_s, job.gpus, node),)
    return JobOutcome(
        job=job,
        state=fields.pop("state", JobState.SUCCEEDED),
        first_start_ms=None if start_s is None else round(start_s * S),
        end_ms=None if end_s is None else round(end_s * S),
        stints=stints,
        **fields,
    )


def a_stint(start_s: float, end_s: float, gpus: float, *nodes: str) -> Stint:
    return Stint(
        start_ms=round(start_s * S),
        end_ms=round(end_s * S),
        gpu_milli=round(gpus * 1000),
        nodes=tuple(NodeName(node) for node in nodes),
    )


def a_replay(*outcomes: JobOutcome, gpus: int = 8, samples: tuple[Sample, ...] = (), **fields: Any) -> Replay:
    return Replay(
        policy="fifo",
        trace="tiny",
        capacity_milli=gpus * 1000,
        outcomes=outcomes,
        samples=samples,
        cycles=1,
        cpu_s=0.5,
        log_hash="abc",
        **fields,
    )
