"""A job of a trace -> what its user would have submitted.

A gang larger than the biggest node that it may use is split into equal workers, as few as divide it evenly. Jobs that
are alike share one spec. Scheduling treats them as one class, and a replay need not make the same value twice.
"""

from collections.abc import Iterable

from muster.estimates.training import PARTS, Habits
from muster.model.ids import GpuType
from muster.model.limits import MAX_DURATION_MS
from muster.model.node import Node
from muster.model.policy import Policy
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import CheckpointSpec, JobSpec, Retry, RoleSpec
from muster.model.trace import TraceJob
from muster.sim.time_limits import TimeLimits

NAMELESS = "job"
"""The name of jobs that have none in the trace. All of them share one history of run times."""

CHECKPOINT = CheckpointSpec(path="trace://", every_ms=MAX_DURATION_MS)
"""The jobs of a replay save by their own clock, so the engine need not ask them to."""

SPEED_STEP_MILLI = 10
"""Speeds by GPU type are rounded to a hundredth. Measured durations differ by more from run to run."""


class TraceSubmissions:
    """Makes the specs of one replay."""

    def __init__(
        self,
        nodes: Iterable[Node],
        *,
        knows_durations: bool = False,
        knows_speeds: bool = True,
        can_resume: bool = True,
        retries: int = 0,
        habits: Habits | None = None,
        stop_grace_ms: int = Policy().stop_grace_ms,
        slowest: int = PARTS,
    ) -> None:
        """`stop_grace_ms` is for jobs that cannot resume. `slowest` is what stragglers leave of a job's speed."""
        self._most_gpus: dict[GpuType, int] = {}
        for node in nodes:
            self._most_gpus[node.gpu_type] = max(node.gpus, self._most_gpus.get(node.gpu_type, 0))
        self._knows_durations = knows_durations
        self._knows_speeds = knows_speeds
        self._checkpoint = _checkpoint(habits or Habits()) if can_resume else None
        self._limits = TimeLimits(
            self._most_gpus,
            habits or Habits(),
            grace_ms=stop_grace_ms if self._checkpoint is None else self._checkpoint.grace_ms,
            saves=can_resume,
            slowest=slowest,
        )
        self._retry = Retry(limit=retries)
        self._roles: dict[tuple[object, ...], tuple[RoleSpec, ...]] = {}
        self._specs: dict[tuple[object, ...], JobSpec] = {}

    def spec(self, job: TraceJob) -> JobSpec:
        """The spec of a job. Jobs that are alike get the same object."""
        roles = self._roles_of(job)
        expected_ms = job.run_ms if self._knows_durations else None
        limit_ms = self._limits.limit_ms(job)
        key = (id(roles[0]), job.team, job.tier, job.priority, job.name, job.user, limit_ms, expected_ms)
        known = self._specs.get(key)
        if known is None:
            known = self._specs[key] = JobSpec(
                name=job.name or NAMELESS,
                team=job.team,
                tier=job.tier,
                roles=roles,
                priority=job.priority,
                max_duration_ms=limit_ms,
                expected_duration_ms=expected_ms,
                checkpoint=self._checkpoint,
                retry=self._retry,
                tags=(("user", job.user),) if job.user else (),
            )
        return known

    def _roles_of(self, job: TraceJob) -> tuple[RoleSpec, ...]:
        speeds = self._speeds(job) if self._knows_speeds and job.run_ms_by_type else ()
        key = (job.gpu_milli, job.gpu_types, job.cpu_milli, job.memory_bytes, speeds)
        known = self._roles.get(key)
        if known is None:
            workers = worker_count(job.gpu_milli, self._largest_node(job.gpu_types))
            request = Request(
                gpu_milli=_whole_or_share(job.gpu_milli) // workers,
                gpu_types=job.gpu_types,
                cpu_milli=job.cpu_milli // workers,
                memory_bytes=job.memory_bytes // workers,
                throughput=speeds,
            )
            role = RoleSpec(name="worker", workers_min=workers, workers_max=workers, request=request)
            known = self._roles[key] = (role,)
        return known

    def _speeds(self, job: TraceJob) -> tuple[tuple[GpuType, int], ...]:
        """How fast each GPU type runs this job, in thousandths of the type that its run time is from."""
        return tuple(
            (kind, max(SPEED_STEP_MILLI, round(job.run_ms * 1000 / (run_ms * SPEED_STEP_MILLI)) * SPEED_STEP_MILLI))
            for kind, run_ms in job.run_ms_by_type
            if run_ms
        )

    def _largest_node(self, kinds: tuple[GpuType, ...]) -> int:
        accepted = (gpus for kind, gpus in self._most_gpus.items() if not kinds or kind in kinds)
        return max(accepted, default=0)


def _checkpoint(habits: Habits) -> CheckpointSpec:
    """The checkpoint part of a spec, with a grace period long enough to save and leave."""
    needed_ms = habits.save_cost_ms + habits.leave_ms
    return CHECKPOINT if needed_ms <= CHECKPOINT.grace_ms else evolve(CHECKPOINT, grace_ms=needed_ms)


def worker_count(gpu_milli: int, node_gpus: int) -> int:
    """The fewest equal workers into which a gang can be divided so that each fits on a node."""
    gpus = -(-gpu_milli // GPU_MILLI)
    if gpus <= node_gpus or node_gpus < 1:
        return 1
    return next(workers for workers in range(-(-gpus // node_gpus), gpus + 1) if gpus % workers == 0)


def _whole_or_share(gpu_milli: int) -> int:
    """Round up to whole GPUs above one GPU: only whole ones can be allocated there."""
    return gpu_milli if gpu_milli <= GPU_MILLI else -(-gpu_milli // GPU_MILLI) * GPU_MILLI
