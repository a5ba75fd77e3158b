"""Random jobs of all kinds: single, gang, fractional, elastic, two roles, tensor groups, with any preferences."""

from random import Random

from muster.model.ids import GpuType, JobId, LevelName, TeamPath
from muster.model.job import WaitingJob
from muster.model.node import ClusterSpec
from muster.model.policy import HOUR_MS, Tier
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import CheckpointSpec, JobSpec, Parallelism, RoleSpec, TopologySpec
from tests.builders import NOW_MS
from tests.property.machines import GIB

KINDS = ("single", "single", "single", "gang", "gang", "fractional", "elastic", "elastic", "roles", "tensor", "cpu")
CONSTRAINTS = ("ib", "nvme", "!ib", "ib & nvme", "h100 | nvme", "!(ib | nvme)")
TEAM_PATHS = tuple(TeamPath(path) for path in ("a", "a/x", "a/x/p", "a/y", "b", "b/z"))


def a_random_job(chance: Random, cluster: ClusterSpec, tiers: tuple[Tier, ...]) -> JobSpec:
    """One job file."""
    kind = chance.choice(KINDS)
    hours = chance.choice((1, 2, 3, 5, None))
    team, tier, roles = chance.choice(TEAM_PATHS), chance.choice(tiers).name, _roles(chance, kind)
    priority = chance.choice((50, 50, 10, 90))
    spec = JobSpec(
        name=kind,
        team=team,
        tier=tier,
        roles=roles,
        priority=priority,
        parallelism=Parallelism(tensor=4 if kind == "tensor" else 1),
        topology=evolve(_topology(chance, cluster.levels), spread=kind == "gang" and priority == 10),
        max_duration_ms=None if hours is None else hours * HOUR_MS,
        checkpoint=chance.choice((None, CheckpointSpec(path="/c"), CheckpointSpec(path="/c", grace_ms=60_000))),
        preemptible=chance.random() < 0.8,
    )
    return with_wishes(chance, spec, cluster) if chance.random() < 0.25 else spec


def with_wishes(chance: Random, spec: JobSpec, cluster: ClusterSpec) -> JobSpec:
    """The same job, which does not take every node or does not share it."""
    names = [node.name for node in cluster.nodes]
    match chance.choice(("constraint", "constraint", "exclude", "nodelist", "exclusive", "exclusive")):
        case "constraint":
            return evolve(spec, constraint=chance.choice(CONSTRAINTS))
        case "exclude":
            return evolve(spec, exclude=(chance.choice(names),))
        case "nodelist":
            return evolve(spec, nodelist=tuple(chance.sample(names, chance.randint(1, len(names)))))
        case _:
            return evolve(spec, exclusive=True)


def waits_at_random(
    seed: int, name: str, cluster: ClusterSpec, tiers: tuple[Tier, ...], *, now_ms: int = NOW_MS
) -> WaitingJob:
    """A job that wants to start; a few want to again, or do not yet."""
    chance = Random(seed)
    oddity = chance.choice(("", "", "", "", "requeued", "held", "unmet", "survivor", "early"))
    some_node = chance.choice(cluster.nodes).name
    return WaitingJob(
        id=JobId(name),
        spec=a_random_job(chance, cluster, tiers),
        submitted_ms=now_ms - round(chance.choice((0.5, 0, 2, 5, 30)) * HOUR_MS),
        requeued=oddity == "requeued",
        attained_gpu_ms=chance.choice((0, HOUR_MS)) if oddity == "requeued" else 0,
        starved=oddity == "requeued" and chance.random() < 0.5,
        held=oddity == "held",
        unmet=(JobId("other"),) if oddity == "unmet" else (),
        preferred_nodes=(some_node,) if oddity == "survivor" else (),
        early=oddity == "early",
        user=chance.choice(("", "ann")),
    )


def _roles(chance: Random, kind: str) -> tuple[RoleSpec, ...]:
    request = _request(chance, kind)
    match kind:
        case "gang":
            return (_role("worker", chance.randint(2, 4), request),)
        case "fractional":
            return (_role("worker", chance.randint(1, 3), request),)
        case "elastic":
            low = chance.randint(1, 2)
            return (_role("worker", low, request, low + chance.randint(1, 3)),)
        case "tensor":
            group = 4 * GPU_MILLI // request.gpu_milli
            return (_role("worker", group, request, group * chance.randint(1, 2)),)
        case "roles":
            other = _request(chance, chance.choice(("cpu", "single", "fractional")))
            return (
                _role("trainer", chance.randint(1, 2), request, chance.randint(2, 3)),
                _role("loader", chance.randint(1, 2), other),
            )
        case _:
            return (_role("worker", 1, request),)


def _role(name: str, low: int, request: Request, high: int | None = None) -> RoleSpec:
    return RoleSpec(name=name, workers_min=low, workers_max=max(low, high or low), request=request)


def _request(chance: Random, kind: str) -> Request:
    match kind:
        case "cpu":
            return Request(cpu_milli=4_000)
        case "fractional":
            gpu_milli = chance.choice((250, 500, 300, 700))
        case "tensor":
            gpu_milli = chance.choice((1000, 2000, 4000))
        case _:
            gpu_milli = chance.choice((1000, 1000, 2000, 2000, 4000, 8000, 3000))
    types = chance.choice(((), (), (), ("h100",), ("a100", "h100")))
    return Request(
        gpu_milli=gpu_milli,
        gpu_types=tuple(GpuType(each) for each in types),
        cpu_milli=chance.choice((0, 0, 0, 2_000, 8_000)),
        memory_bytes=chance.choice((0, 0, 0, 16 * GIB)),
    )


def _topology(chance: Random, levels: tuple[LevelName, ...]) -> TopologySpec:
    if chance.random() < 0.7:
        return TopologySpec()
    level = chance.choice((*levels, LevelName("node")))
    if chance.random() < 0.5:
        return TopologySpec(within=level)
    return TopologySpec(prefer=level, relax_after_ms=chance.choice((0, HOUR_MS, 6 * HOUR_MS)))
