"""Small words to build situations with: `a_job(gpus=8)`, `nodes(4, gpus=8)`, `a_scenario(...)`."""

from collections.abc import Iterable
from typing import Any

from muster.model.ids import GpuType, JobId, LevelName, NodeName, PoolName, TeamPath, TierName
from muster.model.job import RunningJob, WaitingJob, Worker
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.plan import Promise
from muster.model.policy import DEFAULT_TIERS, HOUR_MS, Policy, Pool, Tier
from muster.model.resources import GPU_MILLI, UNTRACKED, Request
from muster.model.scenario import Scenario
from muster.model.spec import CheckpointSpec, JobSpec, Parallelism, RoleSpec, TopologySpec
from muster.model.team import Team

NOW_MS = 1_000 * HOUR_MS


def a_job(
    name: str = "train",
    *,
    gpus: float = 1,
    workers: int | tuple[int, int] = 1,
    team: str = "default",
    tier: str = "standard",
    gpu_type: str | tuple[str, ...] = (),
    cpus: int = 0,
    memory_bytes: int = 0,
    hours: float | None = None,
    checkpoint: bool = False,
    grace_ms: int = 120_000,
    within: str | None = None,
    prefer: str | None = None,
    relax_after_ms: int = 0,
    spread: bool = False,
    tensor: int = 1,
    **fields: Any,
) -> JobSpec:
    """A job file as a value; everything not named has its default."""
    low, high = workers if isinstance(workers, tuple) else (workers, workers)
    types = (gpu_type,) if isinstance(gpu_type, str) else gpu_type
    request = Request(
        gpu_milli=round(gpus * GPU_MILLI),
        gpu_types=tuple(GpuType(each) for each in types),
        cpu_milli=cpus * 1000,
        memory_bytes=memory_bytes,
    )
    return JobSpec(
        name=name,
        team=TeamPath(team),
        tier=TierName(tier),
        roles=fields.pop("roles", (RoleSpec(name="worker", workers_min=low, workers_max=high, request=request),)),
        max_duration_ms=None if hours is None else round(hours * HOUR_MS),
        checkpoint=CheckpointSpec(path="/checkpoints", grace_ms=grace_ms) if checkpoint else None,
        topology=TopologySpec(
            within=None if within is None else LevelName(within),
            prefer=None if prefer is None else LevelName(prefer),
            relax_after_ms=relax_after_ms,
            spread=spread,
        ),
        parallelism=Parallelism(tensor=tensor),
        **fields,
    )


def waits(job_id: str, spec: JobSpec | None = None, *, hours_ago: float = 1, **fields: Any) -> WaitingJob:
    """A job that has been waiting for a while."""
    return WaitingJob(
        id=JobId(job_id), spec=spec or a_job(), submitted_ms=NOW_MS - round(hours_ago * HOUR_MS), **fields
    )


def runs(
    job_id: str,
    spec: JobSpec,
    on: Iterable[tuple[str, Iterable[int]]],
    *,
    hours_ago: float = 1,
    saved_hours_ago: float | None = None,
    **fields: Any,
) -> RunningJob:
    """A job with one role that runs on these (node, devices)."""
    request = spec.roles[0].request
    share = request.gpu_milli if request.is_fractional else None
    workers = tuple(
        Worker(rank=rank, role=spec.roles[0].name, node=NodeName(node), gpus=tuple(gpus), share_milli=share)
        for rank, (node, gpus) in enumerate(on)
    )
    return RunningJob(
        id=JobId(job_id),
        spec=spec,
        started_ms=NOW_MS - round(hours_ago * HOUR_MS),
        workers=workers,
        checkpointed_ms=None if saved_hours_ago is None else NOW_MS - round(saved_hours_ago * HOUR_MS),
        **fields,
    )


def a_promise(job_id: str, on: Iterable[tuple[str, Iterable[int]]], *, in_hours: float, **fields: Any) -> Promise:
    """A promise made an hour ago to a job with one role, on these (node, devices)."""
    return Promise(
        job=JobId(job_id),
        start_ms=NOW_MS + round(in_hours * HOUR_MS),
        made_ms=fields.pop("made_ms", NOW_MS - HOUR_MS),
        workers=tuple(
            Worker(rank=rank, role="worker", node=NodeName(node), gpus=tuple(gpus))
            for rank, (node, gpus) in enumerate(on)
        ),
        **fields,
    )


def a_node(
    name: str = "n1", *, gpus: int = 8, gpu_type: str = "h100", domains: tuple[str, ...] = (), **fields: Any
) -> Node:
    """One machine."""
    return Node(
        name=NodeName(name),
        gpus=gpus,
        gpu_type=GpuType(gpu_type) if gpus else GpuType(""),
        domains=domains,
        pool=PoolName(fields.pop("pool", "main")),
        state=NodeState(fields.pop("state", "ready")),
        cpu_milli=fields.pop("cpus", UNTRACKED // 1000) * 1000,
        **fields,
    )


def a_cluster(*nodes: Node, levels: tuple[str, ...] = (), nvlink: str | None = None) -> ClusterSpec:
    """Machines under the given levels."""
    return ClusterSpec(
        levels=tuple(LevelName(level) for level in levels),
        nodes=nodes,
        nvlink_level=None if nvlink is None else LevelName(nvlink),
    )


def racks(count: int, size: int, *, gpus: int = 8, **fields: Any) -> ClusterSpec:
    """`count` racks of `size` nodes each: r1-n1, r1-n2, …"""
    return a_cluster(
        *(
            a_node(f"r{rack}-n{number}", gpus=gpus, domains=(f"r{rack}",), **fields)
            for rack in range(1, count + 1)
            for number in range(1, size + 1)
        ),
        levels=("rack",),
    )


def flat(count: int, *, gpus: int = 8, **fields: Any) -> ClusterSpec:
    """`count` equal nodes n1, n2, … without topology."""
    return a_cluster(*(a_node(f"n{number}", gpus=gpus, **fields) for number in range(1, count + 1)))


def a_team(
    path: str,
    *,
    guaranteed: dict[str, int] | None = None,
    limit: dict[str, int] | None = None,
    weight: float = 1,
    **bounds: Any,
) -> Team:
    """A team with quotas in whole GPUs."""
    return Team(
        path=TeamPath(path),
        guaranteed=tuple(sorted((GpuType(key), value * GPU_MILLI) for key, value in (guaranteed or {}).items())),
        limit=tuple(sorted((GpuType(key), value * GPU_MILLI) for key, value in (limit or {}).items())),
        weight=round(weight * 1000),
        **bounds,
    )


def a_scenario(
    cluster: ClusterSpec,
    *,
    running: Iterable[RunningJob] = (),
    waiting: Iterable[WaitingJob] = (),
    teams: Iterable[Team] = (),
    pools: Iterable[Pool] = (),
    promises: Iterable[Promise] = (),
    tiers: tuple[Tier, ...] = DEFAULT_TIERS,
    policy: Policy | None = None,
    **fields: Any,
) -> Scenario:
    """A whole situation at NOW_MS."""
    return Scenario(
        now_ms=fields.pop("now_ms", NOW_MS),
        cluster=cluster,
        running=tuple(running),
        waiting=tuple(waiting),
        teams=tuple(teams),
        pools=tuple(pools),
        promises=tuple(promises),
        tiers=tiers,
        policy=policy or Policy(),
        **fields,
    )
