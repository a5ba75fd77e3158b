"""Random jobs and how they behave: gangs, elastic, fractional, arrays, with dependencies, saves and crashes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from muster.backends.fake import GangScript, ShardScript
from muster.model.ids import GpuType, JobId, LevelName
from muster.model.node import ClusterSpec, Node
from muster.model.policy import DEFAULT_TIERS, HOUR_MS, MINUTE_MS
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import (
    ArraySpec,
    Begin,
    CheckpointSpec,
    Dependency,
    DependencyWhen,
    JobSpec,
    Launch,
    Parallelism,
    Remedy,
    Retry,
    RetryCause,
    RoleSpec,
    TopologySpec,
)
from muster.sim.campaign.random_cluster import GIB, TEAMS

KINDS = ("single", "single", "gang", "gang", "elastic", "elastic", "fractional", "roles", "tensor", "array")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job and how it behaves once it runs."""

    job: JobId
    spec: JobSpec
    held: bool
    scripts: tuple[GangScript, ...]
    """What the processes of each attempt do. Used where processes are simulated one by one."""
    work_ms: int
    """The amount of work. Used where gangs are simulated as a whole."""
    crash_at: float | None
    """The part of the work after which the gang crashes once."""


def a_submission(chance: Random, job: JobId, earlier: Sequence[JobId], cluster: ClusterSpec) -> Submission:
    """Draw a job. It may depend on earlier jobs."""
    spec = _spec(chance, earlier, cluster)
    attempts = chance.choice((1, 2, 2, 3))
    return Submission(
        job=job,
        spec=spec,
        held=chance.random() < 0.1,
        scripts=tuple(_script(chance, spec, is_last=number + 1 == attempts) for number in range(attempts)),
        work_ms=chance.randint(1, 150) * MINUTE_MS,
        crash_at=chance.random() if chance.random() < 0.2 else None,
    )


def saved_by_steps(chance: Random, submission: Submission) -> Submission:
    """The same job with processes that save by steps, if it can resume at all. Most of them do."""
    checkpoint = submission.spec.checkpoint
    if checkpoint is None or chance.random() < 0.15:
        return submission
    keep, shards = chance.choice((1, 2, 3)), _shards(chance)
    return replace(
        submission,
        spec=evolve(submission.spec, checkpoint=evolve(checkpoint, keep=keep)),
        scripts=tuple(replace(each, shards=shards, saves=True) for each in submission.scripts),
    )


def with_remedies(chance: Random, submission: Submission) -> Submission:
    """The same job, which says what is to be done about slow ranks and hangs."""
    remedies = tuple(Remedy)
    spec = evolve(submission.spec, on_straggler=chance.choice(remedies), on_hang=chance.choice(remedies))
    return replace(submission, spec=spec)


def particular(chance: Random, submission: Submission, nodes: Sequence[Node]) -> Submission:
    """The same job, which may be particular about its nodes and about when it starts."""
    excluded = [node.name for node in nodes if chance.random() < 0.3] if chance.random() < 0.3 else []
    spec = evolve(
        submission.spec,
        constraint=chance.choice(("", "", "", "!ib", "!new", "ib | !new")),
        exclude=tuple(excluded) if len(excluded) < len(nodes) else (),
        exclusive=chance.random() < 0.2,
        begin=chance.choice((Begin(), Begin(), Begin(after_ms=20 * MINUTE_MS), Begin(at_ms=HOUR_MS))),
    )
    return replace(submission, spec=spec)


def _shards(chance: Random) -> ShardScript:
    """Steps of minutes, so that attempts come to the same steps."""
    return ShardScript(
        step_ms=chance.choice((1, 1, 5)) * MINUTE_MS,
        skew_ms=chance.choice((0, 0, 2_000, 30_000, 2 * MINUTE_MS)),
        silent_node=chance.choice((None, None, None, None, None, 1)),
        upload_ms=chance.choice((10_000, 5 * MINUTE_MS, HOUR_MS)),
        upload_failures=chance.choice((0, 0, 0, 1, 3)),
        gives_up_ms=chance.choice((None, None, 0, 10_000)),
    )


def _spec(chance: Random, earlier: Sequence[JobId], cluster: ClusterSpec) -> JobSpec:
    kind = chance.choice(KINDS)
    return JobSpec(
        name=kind,
        team=chance.choice(TEAMS),
        tier=chance.choice(DEFAULT_TIERS).name,
        roles=_roles(chance, kind),
        priority=chance.choice((50, 50, 10, 90)),
        launch=chance.choice((Launch.PLAIN, Launch.TORCHFT)),
        parallelism=Parallelism(tensor=2 if kind == "tensor" else 1),
        topology=_topology(chance, cluster.levels),
        max_duration_ms=chance.choice((20, 60, 120, 240)) * MINUTE_MS,
        checkpoint=_checkpoint(chance),
        preemptible=chance.random() < 0.85,
        retry=_retry(chance),
        depends_on=_dependencies(chance, earlier),
        array=_array(chance) if kind == "array" else None,
    )


def _roles(chance: Random, kind: str) -> tuple[RoleSpec, ...]:
    request = _request(chance, kind)
    match kind:
        case "gang":
            return (_role("worker", chance.randint(2, 4), request),)
        case "elastic":
            low = chance.randint(1, 2)
            return (_role("worker", low, request, low + chance.randint(1, 4)),)
        case "tensor":
            return (_role("worker", 2, Request(gpu_milli=GPU_MILLI), chance.choice((2, 4))),)
        case "roles":
            other = _request(chance, chance.choice(("single", "fractional")))
            return (_role("trainer", 1, request, chance.randint(1, 3)), _role("loader", chance.randint(1, 2), other))
        case _:
            return (_role("worker", 1, request),)


def _role(name: str, low: int, request: Request, high: int = 0) -> RoleSpec:
    return RoleSpec(name=name, workers_min=low, workers_max=max(low, high), request=request)


def _request(chance: Random, kind: str) -> Request:
    types = chance.choice(((), (), (), ("h100",), ("a100", "h100")))
    return Request(
        gpu_milli=chance.choice((250, 500, 700) if kind == "fractional" else (1000, 1000, 2000, 2000, 4000)),
        gpu_types=tuple(GpuType(each) for each in types),
        cpu_milli=chance.choice((0, 0, 2_000, 8_000)),
        memory_bytes=chance.choice((0, 0, 16 * GIB)),
    )


def _topology(chance: Random, levels: tuple[LevelName, ...]) -> TopologySpec:
    if chance.random() < 0.75:
        return TopologySpec()
    level = chance.choice((*levels, LevelName("node")))
    if chance.random() < 0.5:
        return TopologySpec(within=level)
    return TopologySpec(prefer=level, relax_after_ms=chance.choice((0, HOUR_MS)))


def _checkpoint(chance: Random) -> CheckpointSpec | None:
    if chance.random() < 0.4:
        return None
    every_ms = chance.choice((None, 10 * MINUTE_MS))
    return CheckpointSpec(path="/c", every_ms=every_ms, grace_ms=chance.choice((MINUTE_MS, 2 * MINUTE_MS)))


def _retry(chance: Random) -> Retry:
    causes = chance.choice(((RetryCause.ERROR, RetryCause.OOM), (RetryCause.OOM,), tuple(RetryCause)))
    return Retry(limit=chance.choice((0, 1, 2)), on=causes)


def _dependencies(chance: Random, earlier: Sequence[JobId]) -> tuple[Dependency, ...]:
    if not earlier or chance.random() < 0.75:
        return ()
    count = min(len(earlier), chance.choice((1, 1, 2)))
    return tuple(
        Dependency(job=job, when=chance.choice(tuple(DependencyWhen))) for job in chance.sample(earlier, count)
    )


def _array(chance: Random) -> ArraySpec:
    return ArraySpec(indices=tuple(range(chance.randint(2, 5))), concurrency=chance.choice((None, 1, 2)))


def _script(chance: Random, spec: JobSpec, *, is_last: bool) -> GangScript:
    """How one attempt goes. The last attempt can always be started, so that no job is retried for days."""
    outcome = chance.choice(("well", "well", "well", "code", "oom", "rank", "never", "unable"))
    stop_ms = chance.choice((0, 5_000, 40_000, 300_000, None))
    return GangScript(
        start_ms=chance.choice((0, 1_000, 30_000)),
        cannot_start=outcome == "unable" and not is_last,
        run_ms=None if outcome == "never" else chance.randint(1, 150) * MINUTE_MS,
        exit_code=1 if outcome in ("code", "oom") else 0,
        oom=outcome == "oom",
        crash_rank=chance.randint(0, 3) if outcome == "rank" else None,
        crash_ms=chance.randint(0, HOUR_MS),
        stop_ms=stop_ms,
        stop_exit_code=chance.choice((0, 1)),
        saves=spec.can_resume,
        save_every_ms=chance.choice((None, 15 * MINUTE_MS)) if spec.can_resume else None,
        save_cost_ms=chance.choice((5_000, 60_000)),
    )
