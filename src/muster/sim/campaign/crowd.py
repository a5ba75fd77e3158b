"""Schedules in which jobs wait for hours: many jobs that can resume, few GPUs, loads below and above one, few faults.

Here every premise of the bound on waits holds (`core.explaining.wait_bound`), so that it can be checked: no team has a
limit, every gang fits into the cluster, and nodes take work or it is known that they do not.
"""

from random import Random

from muster.backends.fake import GangScript
from muster.estimates.training import Habits
from muster.model.ids import GpuType, JobId, NodeName, TeamPath
from muster.model.node import ClusterSpec, Node
from muster.model.policy import DEFAULT_TIERS, HOUR_MS, MINUTE_MS, Order, Policy
from muster.model.resources import GPU_MILLI, Request
from muster.model.scenario import Scenario
from muster.model.spec import CheckpointSpec, JobSpec, RoleSpec
from muster.sim.campaign.random_cluster import TEAMS
from muster.sim.campaign.schedule import RELIABLE, FaultAction, Happening, Schedule
from muster.sim.campaign.workload import Submission

LOADS = (0.6, 0.95, 1.5, 3.0)
"""GPU time of all jobs over that of the cluster while they come."""
JOBS_MIN, JOBS_MAX = 15, 40
STREAM_JOBS = 70
"""Jobs of a schedule that lasts long enough for jobs to starve."""
FAULTS = (FaultAction.RESTART, FaultAction.KILL, FaultAction.CANCEL, FaultAction.LOSE_NODE, FaultAction.RETURN_NODE)
FAULTS_MAX = 4
SAVE_EVERY_MS = 6 * HOUR_MS
"""No job waits for what others save, and in a schedule of days nearly all reports would be about saves."""


def crowd(seed: int) -> Schedule:
    """The crowd that a seed stands for."""
    chance = Random(f"crowd {seed}")
    cluster = _cluster(chance)
    gpus = sum(node.gpus for node in cluster.nodes)
    is_stream = chance.random() < 0.3
    jobs = _jobs(chance, gpus, is_stream=is_stream)
    load = chance.choice(LOADS[2:] if is_stream else LOADS)
    return Schedule(
        seed=seed,
        scenario=Scenario(now_ms=0, cluster=cluster, policy=_policy(chance)),
        happenings=_happenings(chance, jobs, gpus, load),
        unreliability=RELIABLE,
        whole_gangs=True,
        habits=_habits(chance),
        in_batches=chance.random() < 0.2,
        is_crowd=True,
    )


def _cluster(chance: Random) -> ClusterSpec:
    gpus, count = chance.choice((2, 4, 4, 8)), chance.choice((1, 2, 2, 3))
    nodes = (Node(name=NodeName(f"n{number + 1}"), gpus=gpus, gpu_type=GpuType("h100")) for number in range(count))
    return ClusterSpec(nodes=tuple(nodes))


def _policy(chance: Random) -> Policy:
    return Policy(
        order=chance.choice((Order.FAIR, Order.FAIR, Order.FIFO)),
        hold_depth=chance.choice((1, 4, 4)),
        min_runtime_ms=chance.choice((0, MINUTE_MS, 10 * MINUTE_MS, 10 * MINUTE_MS)),
        consolidation=chance.random() < 0.8,
    )


def _habits(chance: Random) -> Habits:
    return Habits(
        start_ms=chance.choice((0, 30_000)),
        restart_cost_ms=chance.choice((0, MINUTE_MS)),
        save_every_ms=SAVE_EVERY_MS,
        leave_ms=chance.choice((0, 20_000)),
    )


def _jobs(chance: Random, gpus: int, *, is_stream: bool) -> list[Submission]:
    """Jobs from minutes to days. A stream has one long job in ten, and the others are all of about the same length."""
    count = STREAM_JOBS if is_stream else chance.randint(JOBS_MIN, JOBS_MAX)
    teams = TEAMS[:1] if chance.random() < 0.6 else TEAMS
    tiers = DEFAULT_TIERS[1:2] if chance.random() < 0.7 else DEFAULT_TIERS[1:]
    found = []
    for number in range(count):
        is_long = number % 10 == 1
        gpu_hours = (30 if is_long else 2 + 4 * chance.random()) if is_stream else 10 ** chance.uniform(-1.3, 1.7)
        each, most = chance.choice((1, 1, 1, 2)), max(gpus // 2, 1)
        workers = 1 if is_stream else chance.randint(1, max(most // each, 1))
        spec = JobSpec(
            name="crowd",
            team=TeamPath(chance.choice(teams)),
            tier=chance.choice(tiers).name,
            roles=(
                RoleSpec(
                    name="worker",
                    workers_min=workers,
                    workers_max=workers,
                    request=Request(gpu_milli=min(each, gpus) * GPU_MILLI),
                ),
            ),
            priority=chance.choice((50, 50, 50, 55)),
            checkpoint=CheckpointSpec(
                path="/c", every_ms=SAVE_EVERY_MS, grace_ms=chance.choice((MINUTE_MS, 2 * MINUTE_MS))
            ),
        )
        work_ms = max(round(gpu_hours * HOUR_MS * GPU_MILLI / spec.gang_gpu_milli), MINUTE_MS)
        found.append(
            Submission(
                job=JobId(f"j{number + 1}"),
                spec=spec,
                held=False,
                scripts=(GangScript(),),
                work_ms=work_ms,
                crash_at=None,
            )
        )
    return found


def _happenings(chance: Random, jobs: list[Submission], gpus: int, load: float) -> tuple[Happening, ...]:
    """The jobs, one after another so that they make the load, and a few faults among them."""
    gpu_ms = sum(job.work_ms * job.spec.gang_gpu_milli // GPU_MILLI for job in jobs)
    gap_ms = gpu_ms / (gpus * load * len(jobs))
    at_ms, found = 0, list[Happening]()
    for job in jobs:
        found.append(Happening(at_ms=at_ms, action=FaultAction.SUBMIT, pick=0, submission=job))
        at_ms += round(chance.expovariate(1) * gap_ms)
    found += [
        Happening(at_ms=chance.randrange(at_ms + 1), action=chance.choice(FAULTS), pick=chance.randrange(1 << 16))
        for _ in range(chance.randint(0, FAULTS_MAX))
    ]
    return tuple(sorted(found, key=lambda happening: happening.at_ms))
