"""Random clusters, small enough to be searched by hand: levels, mixed GPU types, pools, bad GPUs, drained nodes."""

from collections.abc import Sequence
from random import Random

from muster.model.ids import GpuType, LevelName, NodeName, PoolName, TeamPath
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.policy import Pool, Tier
from muster.model.resources import UNTRACKED

LEVELS = ("zone", "block", "rack")
GIB = 1 << 30


def a_random_cluster(seed: int, nodes: Sequence[int], pools: tuple[Pool, ...], *, healthy: bool) -> ClusterSpec:
    """Up to three levels above nodes of a few kinds, one node for each of the given seeds."""
    chance = Random(seed)
    depth = chance.choice((0, 1, 1, 2, 3))
    levels = tuple(LevelName(level) for level in LEVELS[3 - depth :])
    fan_out = [chance.randint(1, 4) for _ in range(depth)]
    kinds = [_kind(chance, pools) for _ in range(chance.choice((1, 1, 2, 3)))]
    return ClusterSpec(
        levels=levels,
        nodes=tuple(_node(Random(each), kinds, index, fan_out, healthy=healthy) for index, each in enumerate(nodes)),
        nvlink_level=chance.choice((None, *levels)),
    )


def _kind(chance: Random, pools: tuple[Pool, ...]) -> Node:
    gpus = chance.choice((8, 8, 4, 4, 2, 3, 1, 0))
    return Node(
        name=NodeName("kind"),
        gpus=gpus,
        gpu_type=GpuType(chance.choice(("h100", "h100", "a100"))) if gpus else GpuType(""),
        cpu_milli=chance.choice((UNTRACKED, 16_000, 8_000)),
        memory_bytes=chance.choice((UNTRACKED, 64 * GIB)),
        pool=chance.choice(pools).name if pools else PoolName("main"),
    )


def _node(chance: Random, kinds: list[Node], index: int, fan_out: list[int], *, healthy: bool) -> Node:
    kind = chance.choice(kinds)
    is_ill = not healthy and chance.random() < 0.15
    return Node(
        name=NodeName(f"n{index + 1}"),
        gpus=kind.gpus,
        gpu_type=kind.gpu_type,
        cpu_milli=kind.cpu_milli,
        memory_bytes=kind.memory_bytes,
        domains=_domains(index, fan_out),
        pool=kind.pool,
        state=chance.choice(list(NodeState)) if is_ill else NodeState.READY,
        bad_gpus=(chance.randrange(kind.gpus),) if is_ill and kind.gpus else (),
        labels=chance.choice(((), ("ib",), ("ib", "nvme"), ("nvme",))),
    )


def _domains(index: int, fan_out: list[int]) -> tuple[str, ...]:
    """Consecutive nodes share the innermost domain; the names repeat in the next outer domain, as those of racks do."""
    path: list[str] = []
    for size in reversed(fan_out):
        index, place = divmod(index // size, 2) if len(path) + 1 < len(fan_out) else (0, index // size)
        path.append(f"d{place}")
    return tuple(reversed(path))


def random_pools(chance: Random, tiers: tuple[Tier, ...], team: TeamPath) -> tuple[Pool, ...]:
    """None, or an open pool beside a reserved, a spot and a team's one."""
    main = Pool(name=PoolName("main"))
    reserved = Pool(name=PoolName("reserved"), tiers=(tiers[0].name,))
    spot = Pool(name=PoolName("spot"), spot=True, price_milli=300)
    own = Pool(name=PoolName("own"), teams=(team,))
    return chance.choice(((main, reserved), (main, spot), (main, own), (main, reserved, spot, own)))
