"""Random whole situations: a cluster, a team tree, rules, what runs (validly placed) and what waits.

Every node and every job comes from a seed of its own in a drawn list, so that a failing situation shrinks by losing
nodes and jobs, and drawing one costs little.
"""

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from muster.model.ids import GpuType, JobId, TeamPath, TierName
from muster.model.job import RunningJob
from muster.model.machines.reservation import Reservation
from muster.model.node import ClusterSpec
from muster.model.policy import DEFAULT_TIERS, HOUR_MS, Order, Policy, Tier
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Scenario
from muster.model.team import Quota, Team
from tests.builders import NOW_MS
from tests.property.board import Board
from tests.property.machines import a_random_cluster, random_pools
from tests.property.work import TEAM_PATHS, a_random_job, waits_at_random

CUSTOM_TIERS = (
    Tier(name=TierName("urgent"), preempts=True, preemptible=False, max_duration_ms=24 * HOUR_MS),
    Tier(name=TierName("batch"), preempts=False, max_duration_ms=48 * HOUR_MS),
)
SPEEDS = ((GpuType("a100"), 400), (GpuType("h100"), 1000))
SEEDS = st.integers(0, (1 << 32) - 1)


@st.composite
def situations(
    draw: DrawFn, *, nodes_max: int = 10, waiting_max: int = 10, policy: Policy | None = None, punctual: bool = False
) -> Scenario:
    """Anything that may come up. `punctual`: no job is past its limit and no node is ill."""
    has = draw(st.tuples(*[st.booleans()] * 4))
    chance = Random(draw(SEEDS))
    nodes = draw(st.lists(SEEDS, min_size=1, max_size=nodes_max))
    crowd = draw(st.integers(0, 3)) * len(nodes)
    running = draw(st.lists(SEEDS, min_size=crowd, max_size=crowd + 4))
    waiting = draw(st.lists(SEEDS, min_size=draw(st.integers(0, waiting_max // 2)), max_size=waiting_max))
    return _situation(has, chance, nodes, running, waiting, policy=policy, punctual=punctual)


def a_situation(seed: int) -> Scenario:
    """The situation that a seed stands for, more crowded than those that shrink well."""
    chance = Random(f"situation {seed}")
    has = (chance.random() < 0.3, chance.random() < 0.8, chance.random() < 0.6, chance.random() < 0.5)
    nodes = _seeds(chance, chance.randint(1, 10))
    running = _seeds(chance, round(chance.choice((0.5, 1, 1.5, 2, 4)) * len(nodes)))
    waiting = _seeds(chance, chance.randint(1, 10))
    scenario = _situation(has, chance, nodes, running, waiting)
    limits = Policy(preemptions_per_team_hour=1) if chance.random() < 0.1 else None
    recent = tuple((path, chance.randint(1, 3)) for path in TEAM_PATHS if chance.random() < 0.3)
    return evolve(scenario, recent_preemptions=recent, policy=limits or scenario.policy)


def _seeds(chance: Random, count: int) -> list[int]:
    return [chance.getrandbits(32) for _ in range(count)]


def _situation(
    has: tuple[bool, ...],
    chance: Random,
    nodes: Sequence[int],
    running: Sequence[int],
    waiting: Sequence[int],
    *,
    policy: Policy | None = None,
    punctual: bool = False,
) -> Scenario:
    has_own_tiers, has_pools, has_teams, has_own_policy = has
    tiers = CUSTOM_TIERS if has_own_tiers and has_pools else DEFAULT_TIERS
    pools = random_pools(chance, tiers, TEAM_PATHS[0]) if has_pools and chance.random() < 0.6 else ()
    cluster = a_random_cluster(chance.getrandbits(32), nodes, pools, healthy=punctual)
    board = Board(cluster, pools)
    return Scenario(
        now_ms=NOW_MS,
        cluster=cluster,
        pools=pools,
        teams=_team_tree(chance, cluster, tiers) if has_teams else (),
        tiers=tiers,
        policy=policy or (_policy(chance) if has_own_policy and chance.random() < 0.6 else Policy()),
        usage=((TEAM_PATHS[1], 40 * HOUR_MS),) if has_teams else (),
        turn_ms=chance.choice((None, HOUR_MS, 2 * HOUR_MS)),
        running=tuple(
            job
            for number, seed in enumerate(running)
            if (job := _runs(Random(seed), f"r{number}", board, cluster, tiers, punctual=punctual)) is not None
        ),
        waiting=tuple(waits_at_random(seed, f"w{number}", cluster, tiers) for number, seed in enumerate(waiting)),
        reservations=_reservations(chance, cluster) if chance.random() < 0.3 else (),
    )


def _reservations(chance: Random, cluster: ClusterSpec) -> tuple[Reservation, ...]:
    """Nodes for a team, for a user or for nobody, now or soon or no more."""
    names = [node.name for node in cluster.nodes]
    made = []
    for number in range(chance.randint(1, 2)):
        from_ms = NOW_MS + chance.choice((-2, 0, 1, 2, 4)) * HOUR_MS
        team, user = chance.choice((("", ""), ("", ""), (TEAM_PATHS[0], ""), ("", "ann")))
        made.append(
            Reservation(
                name=f"s{number}",
                nodes=tuple(sorted(chance.sample(names, chance.randint(1, len(names))))),
                from_ms=from_ms,
                to_ms=from_ms + chance.choice((1, 3, 10)) * HOUR_MS,
                team=TeamPath(team),
                user=user,
            )
        )
    return tuple(made)


def _policy(chance: Random) -> Policy:
    return Policy(
        order=chance.choice(list(Order)),
        backfill=chance.random() < 0.7,
        hold_depth=chance.choice((0, 1, 4)),
        preemption=chance.random() < 0.7,
        preemptions_per_team_hour=chance.choice((120, 1)),
        consolidation=chance.random() < 0.7,
        consolidation_gain_milli=chance.choice((2000, 0)),
        elastic=chance.random() < 0.7,
        throughput=chance.choice(((), SPEEDS)),
    )


def _team_tree(chance: Random, cluster: ClusterSpec, tiers: tuple[Tier, ...]) -> tuple[Team, ...]:
    """A tree whose guarantees add up and lie below the limits."""
    gpus = sum(node.gpus for node in cluster.nodes)
    gpu_type = GpuType(chance.choice(("*", "*", "h100")))
    owed: dict[TeamPath, int] = {}
    teams: list[Team] = []
    for path in TEAM_PATHS:
        parent = TeamPath(path.rpartition("/")[0])
        spent = sum(amount for other, amount in owed.items() if other.rpartition("/")[0] == parent)
        owed[path] = chance.randint(0, max(0, owed.get(parent, gpus) - spent))
        extra = chance.choice((None, None, None, 0, 2, 6))
        teams.append(
            Team(
                path=path,
                guaranteed=_quota(gpu_type, owed[path]) if owed[path] else (),
                limit=() if extra is None else _quota(gpu_type, owed[path] + extra),
                weight=chance.choice((1000, 3000)),
            )
        )
    # Every other tree has tiers that are bound, as on a server: there a guarantee comes before a tier.
    is_bound = sum(owed.values()) % 2 == 0
    names = tuple(tier.name for tier in tiers)
    return tuple(evolve(team, tiers=names) for team in teams) if is_bound else tuple(teams)


def _quota(gpu_type: GpuType, gpus: int) -> Quota:
    return ((gpu_type, gpus * GPU_MILLI),)


def _runs(
    chance: Random, name: str, board: Board, cluster: ClusterSpec, tiers: tuple[Tier, ...], *, punctual: bool
) -> RunningJob | None:
    """A job that was put where there is room for it; None when there is none."""
    spec = a_random_job(chance, cluster, tiers)
    sizes = {role.name: role.workers_min for role in spec.roles}
    if spec.elastic_role is not None and spec.parallelism.tensor == 1:
        sizes[spec.elastic_role.name] = chance.randint(spec.elastic_role.workers_min, spec.elastic_role.workers_max)
    workers = board.seat(spec, sizes, chance)
    if workers is None:
        return None
    ran_ms = round(chance.choice((0.5, 0.05, 0.9, 0.9, 4)) * HOUR_MS)
    if spec.max_duration_ms is not None and (punctual or chance.random() < 0.8):
        ran_ms = min(ran_ms, spec.max_duration_ms - HOUR_MS // 10)
    return RunningJob(
        id=JobId(name),
        spec=spec,
        started_ms=NOW_MS - ran_ms,
        workers=workers,
        checkpointed_ms=NOW_MS - ran_ms // 4 if spec.can_resume and chance.random() < 0.7 else None,
        leaving_by_ms=NOW_MS + 20_000 if chance.random() < 0.1 else None,
        submitted_ms=NOW_MS - ran_ms - HOUR_MS,
    )
