"""The situations on which speed is measured: a busy cluster of any size with thousands of waiting jobs.

Everything is drawn from a seeded generator, so that every run measures the same.
"""

from random import Random

from muster.model.ids import GpuType, JobId, LevelName, NodeName, TeamPath, TierName
from muster.model.job import RunningJob, WaitingJob, Worker
from muster.model.node import ClusterSpec, Node
from muster.model.policy import DEFAULT_TIERS, HOUR_MS, Policy
from muster.model.resources import GPU_MILLI, Request
from muster.model.scenario import Scenario
from muster.model.spec import CheckpointSpec, JobSpec, Parallelism, RoleSpec, TopologySpec
from muster.model.team import Team

NOW_MS = 10_000 * HOUR_MS
GIB = 1 << 30
GPUS = 8
SHAPES = 60


def cluster(nodes: int) -> ClusterSpec:
    """Three levels above the node: 4 nodes in an NVLink domain, 16 in a rack, 256 in a block."""
    return ClusterSpec(
        levels=(LevelName("block"), LevelName("rack"), LevelName("nvl")),
        nvlink_level=LevelName("nvl"),
        nodes=tuple(
            Node(
                name=NodeName(f"n{index}"),
                gpus=GPUS,
                gpu_type=GpuType("h100" if index < nodes * 3 // 4 else "a100"),
                cpu_milli=128_000,
                memory_bytes=1024 * GIB,
                disk_bytes=8192 * GIB,
                domains=(f"b{index // 256}", f"r{index // 16}", f"v{index // 4}"),
            )
            for index in range(nodes)
        ),
    )


def teams(nodes: int) -> tuple[Team, ...]:
    """Twenty teams in two levels: four groups of four, with guarantees for half of the cluster and limits."""
    total = nodes * GPUS * GPU_MILLI
    made: list[Team] = []
    for group in range(4):
        path = f"g{group}"
        made.append(
            Team(
                path=TeamPath(path),
                guaranteed=((GpuType("*"), total // 8),),
                limit=((GpuType("*"), total // 2),),
                weight=1000 + 500 * group,
            )
        )
        made += [
            Team(
                path=TeamPath(f"{path}/t{index}"),
                guaranteed=((GpuType("*"), total // 32),),
                limit=((GpuType("*"), total // 4),),
            )
            for index in range(4)
        ]
    return tuple(made)


def shapes(random: Random) -> list[dict[str, object]]:
    """Sixty kinds of job: sizes, types, limits, elasticity, topology and parallelism as real queues mix them."""
    made: list[dict[str, object]] = []
    for _ in range(SHAPES):
        gpus = random.choice((1, 1, 1, 2, 4, 8, 8, 8, 0.25, 0.5))
        workers = random.choice((1, 1, 2, 4, 8, 16, 32)) if gpus >= 4 else 1
        made.append(
            {
                "gpus": gpus,
                "workers": workers,
                "workers_max": workers * 2 if workers > 1 and random.random() < 0.15 else workers,
                "gpu_types": random.choice((("h100",), ("a100",), ("h100", "a100"), ())),
                "hours": random.choice((1, 4, 12, 24, 72, 168)),
                "within": random.choice((None, None, "block", "rack")) if workers in (2, 4, 8) else None,
                "prefer": "rack" if random.random() < 0.1 else None,
                "tensor": 16 if gpus == 8 and workers >= 2 and random.random() < 0.2 else 1,
                "checkpoint": random.random() < 0.7,
            }
        )
    return made


def spec(shape: dict[str, object], *, name: str, team: str, tier: str, priority: int) -> JobSpec:
    """One job of a shape."""
    gpus = float(str(shape["gpus"]))
    workers = int(str(shape["workers"]))
    level = shape["within"]
    prefer = shape["prefer"]
    request = Request(
        gpu_milli=round(gpus * GPU_MILLI),
        gpu_types=tuple(GpuType(kind) for kind in shape["gpu_types"]),  # type: ignore[attr-defined]
        cpu_milli=round(gpus * 12_000),
        memory_bytes=round(gpus * 100) * GIB,
    )
    return JobSpec(
        name=name,
        team=TeamPath(team),
        tier=TierName(tier),
        priority=priority,
        roles=(
            RoleSpec(name="worker", workers_min=workers, workers_max=int(str(shape["workers_max"])), request=request),
        ),
        topology=TopologySpec(
            within=LevelName(str(level)) if level else None, prefer=LevelName(str(prefer)) if prefer else None
        ),
        parallelism=Parallelism(tensor=int(str(shape["tensor"]))),
        max_duration_ms=int(str(shape["hours"])) * HOUR_MS,
        checkpoint=CheckpointSpec(path="/ckpt") if shape["checkpoint"] else None,
    )


def _team_and_tier(random: Random) -> tuple[str, str]:
    team = f"g{random.randrange(4)}/t{random.randrange(4)}"
    return team, random.choices(("production", "standard", "exploratory"), (1, 6, 3))[0]


def busy(nodes: int, waiting: int, *, seed: int = 1, load: float = 0.7) -> Scenario:
    """A cluster of which the part `load` is busy, fragmented as after months of running, and a long queue."""
    random = Random(seed)
    kinds = shapes(random)
    return Scenario(
        now_ms=NOW_MS,
        cluster=cluster(nodes),
        teams=teams(nodes),
        tiers=DEFAULT_TIERS,
        policy=Policy(),
        usage=tuple((TeamPath(f"g{g}/t{t}"), random.randrange(10**12)) for g in range(4) for t in range(4)),
        running=tuple(_running(random, nodes, load)),
        waiting=tuple(_waiting(random, kinds, index) for index in range(waiting)),
    )


def _waiting(random: Random, kinds: list[dict[str, object]], index: int) -> WaitingJob:
    team, tier = _team_and_tier(random)
    made = spec(random.choice(kinds), name=f"w{index}", team=team, tier=tier, priority=random.choice((25, 50, 75)))
    return WaitingJob(id=JobId(f"w{index:05d}"), spec=made, submitted_ms=NOW_MS - random.randrange(30 * HOUR_MS))


def _running(random: Random, nodes: int, load: float) -> list[RunningJob]:
    """Fill nodes with jobs of one to eight GPUs and gangs of whole nodes until the load is reached."""
    made: list[RunningJob] = []
    target = int(nodes * GPUS * load)
    free = [list(range(GPUS)) for _ in range(nodes)]
    at = used = 0
    order = list(range(nodes))
    random.shuffle(order)
    while used < target and at < nodes:
        gang = random.choice((1, 1, 1, 1, 1, 1, 1, 1, 2, 4))
        size = GPUS if gang > 1 else random.choice((1, 1, 2, 4, 8))
        places = []
        if gang > 1:
            places = order[at : at + gang]
            at += gang
        else:
            places = [order[at]] * (random.choice((GPUS, GPUS - size, GPUS // 2)) // size or 1)
            at += 1
        groups = [places] if gang > 1 else [[place] for place in places]
        for group in groups:
            made.append(_one_running(random, len(made), group, size, free))
            used += size * len(group)
    return made


def _one_running(random: Random, number: int, group: list[int], size: int, free: list[list[int]]) -> RunningJob:
    team, tier = _team_and_tier(random)
    shape: dict[str, object] = {
        "gpus": size,
        "workers": len(group),
        "workers_max": len(group),
        "gpu_types": (),
        "hours": random.choice((4, 12, 24, 72, 168)),
        "within": None,
        "prefer": None,
        "tensor": 1,
        "checkpoint": random.random() < 0.8,
    }
    made = spec(shape, name=f"r{number}", team=team, tier=tier, priority=50)
    limit_ms = made.max_duration_ms or 0
    started_ms = NOW_MS - random.randrange(limit_ms)
    saves = made.checkpoint is not None
    workers = []
    for rank, node in enumerate(group):
        gpus, free[node] = free[node][:size], free[node][size:]
        workers.append(Worker(rank=rank, role="worker", node=NodeName(f"n{node}"), gpus=tuple(gpus)))
    return RunningJob(
        id=JobId(f"r{number:05d}"),
        spec=made,
        started_ms=started_ms,
        checkpointed_ms=max(started_ms, NOW_MS - random.randrange(2 * HOUR_MS)) if saves else None,
        workers=tuple(workers),
    )
