"""A small random cluster with its rules, on which a fault schedule runs."""

from random import Random

from muster.model.ids import GpuType, LevelName, NodeName, PoolName, TeamPath, TierName
from muster.model.node import ClusterSpec, Node
from muster.model.policy import HOUR_MS, MINUTE_MS, Order, Policy, Pool
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI, UNTRACKED
from muster.model.scenario import Scenario
from muster.model.team import ANY_TYPE, Quota, Team

RACK = LevelName("rack")
MAIN, SPOT, RESERVED = PoolName("main"), PoolName("spot"), PoolName("reserved")
TEAMS = tuple(TeamPath(path) for path in ("a", "a/x", "b"))
PRODUCTION = TierName("production")
LABELS = ("ib", "new")
GIB = 1 << 30


def circumstances(chance: Random, later: Random) -> Scenario:
    """An empty cluster of two to twelve nodes, its pools, teams and policy.

    What was added last to the policy is drawn from `later`, so that a seed still stands for the same cluster and jobs.
    """
    pools = _pools(chance)
    cluster = _cluster(chance, pools)
    return Scenario(
        now_ms=0,
        cluster=cluster,
        pools=pools,
        teams=_teams(chance, sum(node.gpus for node in cluster.nodes)),
        policy=evolve(_policy(chance), spares=later.choice((0, 0, 1, 2))),
    )


def _pools(chance: Random) -> tuple[Pool, ...]:
    main = Pool(name=MAIN)
    spot = Pool(name=SPOT, spot=True, price_milli=300)
    reserved = Pool(name=RESERVED, tiers=(PRODUCTION,))
    return chance.choice(((), (main, spot), (main, reserved), (main, spot, reserved)))


def _cluster(chance: Random, pools: tuple[Pool, ...]) -> ClusterSpec:
    """Some nodes, perhaps in racks. The first is open to every job, so that something can always run."""
    kinds = [_kind(chance) for _ in range(chance.choice((1, 1, 2)))]
    per_rack = chance.choice((0, 2, 3, 4))
    others = [pool.name for pool in pools if pool.name != MAIN]
    nodes = tuple(
        Node(
            name=NodeName(f"n{number + 1}"),
            gpus=kind.gpus,
            gpu_type=kind.gpu_type,
            cpu_milli=kind.cpu_milli,
            memory_bytes=kind.memory_bytes,
            domains=(f"r{number // per_rack + 1}",) if per_rack else (),
            pool=chance.choice(others) if others and number and chance.random() < 0.4 else MAIN,
        )
        for number in range(chance.choice((2, 2, 3, 3, 4, 5, 6, 8, 12)))
        for kind in (chance.choice(kinds),)
    )
    return ClusterSpec(levels=(RACK,) if per_rack else (), nodes=nodes)


def labelled(chance: Random, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The same nodes with labels. The first has none of them."""
    return tuple(
        evolve(node, labels=tuple(each for each in LABELS if number and chance.random() < 0.5))
        for number, node in enumerate(nodes)
    )


def _kind(chance: Random) -> Node:
    """One kind of machine."""
    return Node(
        name=NodeName("kind"),
        gpus=chance.choice((2, 4, 4, 8)),
        gpu_type=GpuType(chance.choice(("h100", "a100"))),
        cpu_milli=chance.choice((UNTRACKED, 16_000)),
        memory_bytes=chance.choice((UNTRACKED, 64 * GIB)),
    )


def _teams(chance: Random, gpus: int) -> tuple[Team, ...]:
    """No teams, or two teams of which one has a sub-team, with various guarantees and limits."""
    if chance.random() < 0.3:
        return ()
    owed = gpus // 3
    return (
        Team(path=TEAMS[0], guaranteed=_quota(owed), limit=_limit(chance, gpus, owed), weight=2000),
        Team(path=TEAMS[1], guaranteed=_quota(owed // 2), limit=_limit(chance, gpus, owed)),
        Team(path=TEAMS[2], guaranteed=_quota(owed), limit=_limit(chance, gpus, owed)),
    )


def _quota(gpus: int) -> Quota:
    return ((ANY_TYPE, gpus * GPU_MILLI),) if gpus else ()


def _limit(chance: Random, gpus: int, owed: int) -> Quota:
    return () if chance.random() < 0.4 else _quota(max(owed, gpus * chance.choice((2, 3)) // 4, 2))


def _policy(chance: Random) -> Policy:
    """The policy of live systems with shorter times, because an hour is long in a schedule."""
    return Policy(
        order=chance.choice((Order.FAIR, Order.FAIR, Order.FIFO, Order.SHORTEST, Order.LEAST_ATTAINED)),
        hold_depth=chance.choice((1, 4, 4)),
        starvation_limit_ms=chance.choice((HOUR_MS, 24 * HOUR_MS)),
        min_runtime_ms=chance.choice((0, MINUTE_MS, 10 * MINUTE_MS)),
        preemptions_per_team_hour=chance.choice((1, 120, 120)),
        consolidation=chance.random() < 0.8,
        elastic=chance.random() < 0.9,
        throughput=((GpuType("a100"), 400),),
    )
