"""Never more out of service by verdicts at once than the operator allows.

When many nodes look bad at once, a probe or something that all of them share is more likely broken than all these
nodes. Nodes above the limit stay in service as suspects and say why. What is out already keeps its place. Places that
are free go to nodes against which something spoke first.
"""

from collections.abc import Sequence
from dataclasses import replace

from muster.core.health.course import HealthPolicy, NodeCase, Wish, is_many
from muster.core.health.limits import Severity
from muster.model.events import HEALTH
from muster.model.ids import PoolName
from muster.model.node import Node, NodeState


def guarded(
    wishes: Sequence[Wish], nodes: Sequence[Node], set_aside: Sequence[str | None], policy: HealthPolicy
) -> tuple[Wish, ...]:
    """The wishes that may come true. `nodes` are all nodes, and `set_aside` says who took each out of service."""
    pools = {wish.case.node.pool: None for wish in wishes if _takes_more(wish)}
    allowed: dict[str, Wish] = {}
    for pool in pools:
        members = [(node, by) for node, by in zip(nodes, set_aside, strict=True) if node.pool == pool]
        inside = sorted((wish for wish in wishes if wish.case.node.pool == pool), key=_order)
        drained = _guard_nodes(inside, members, pool, policy)
        for wish in _guard_gpus(drained, members, pool, policy):
            allowed[wish.case.node.name] = wish
    return tuple(allowed.get(wish.case.node.name, wish) for wish in wishes)


def nodes_out_most(nodes: int, policy: HealthPolicy) -> int:
    """How many of so many nodes of a pool may be out by verdicts at once."""
    return max(nodes * policy.max_drained_milli // 1000, 1)


def gpus_out_most(nodes: Sequence[Node], policy: HealthPolicy) -> int:
    """How many single GPUs of nodes in service may be out by verdicts at once: the same share, at least one node's."""
    total = sum(node.gpus for node in nodes)
    return max(total * policy.max_drained_milli // 1000, max((node.gpus for node in nodes), default=0), 1)


def _guard_nodes(
    wishes: Sequence[Wish], members: Sequence[tuple[Node, str | None]], pool: PoolName, policy: HealthPolicy
) -> list[Wish]:
    most = nodes_out_most(len(members), policy)
    out = sum(by == HEALTH and not node.state.takes_work for node, by in members)
    allowed = []
    for wish in wishes:
        if not wish.leaves_service:
            allowed.append(wish)
        elif out < most:
            out += 1
            allowed.append(wish)
        else:
            why = f"stays in service: {out} of {len(members)} nodes of pool {pool} are out, and no more may be"
            allowed.append(_withheld(wish, why, _gpus_without_drain(wish)))
    return allowed


def _guard_gpus(
    wishes: Sequence[Wish], members: Sequence[tuple[Node, str | None]], pool: PoolName, policy: HealthPolicy
) -> list[Wish]:
    """A node whose bad GPUs would be too many stays as it is: in service with them, or on probation."""
    most = gpus_out_most([node for node, _ in members], policy)
    leaving = frozenset(wish.case.node.name for wish in wishes if wish.leaves_service)
    out = sum(len(node.bad_gpus) for node, by in members if node.name not in leaving and _counts(node, by))
    allowed = []
    for wish in wishes:
        before = wish.case.node
        counted = before.bad_gpus if before.state.takes_work else ()
        fresh = [gpu for gpu in wish.bad_gpus if gpu not in counted]
        if not fresh or not wish.state.takes_work:
            allowed.append(wish)
            continue
        room = max(most - out, 0)
        why = f"stays in service: {out} GPUs of pool {pool} are out, and no more may be"
        if len(fresh) <= room:
            out += len(fresh)
            allowed.append(wish)
        elif before.state.takes_work:
            out += room
            taken = tuple(gpu for gpu in wish.bad_gpus if gpu in counted or gpu in fresh[:room])
            allowed.append(_withheld(wish, why, taken))
        else:
            waits = f"{out} GPUs of pool {pool} are out, and it has bad ones: it waits until they are well"
            allowed.append(replace(wish, state=before.state, because="", waits=waits))
    return allowed


def _counts(node: Node, set_aside_by: str | None) -> bool:
    """True for a node whose bad GPUs are out singly: it is in service, or will be as soon as it can be reached."""
    return node.state.takes_work or (node.state is NodeState.DOWN and set_aside_by is None)


def _gpus_without_drain(wish: Wish) -> tuple[int, ...]:
    """The bad GPUs of a node that is not drained: without new ones, if these would take out the node piece by piece."""
    known = wish.case.node.bad_gpus
    if is_many(len(wish.bad_gpus), wish.case.node.gpus):
        return tuple(gpu for gpu in wish.bad_gpus if gpu in known)
    return wish.bad_gpus


def _withheld(wish: Wish, why: str, bad_gpus: tuple[int, ...]) -> Wish:
    because = f"{wish.because} ({why})" if wish.because else why
    return replace(wish, state=NodeState.SUSPECT, bad_gpus=bad_gpus, because=because, waits=why)


def _takes_more(wish: Wish) -> bool:
    node = wish.case.node
    returns = wish.state.takes_work and not node.state.takes_work and bool(wish.bad_gpus)
    return wish.leaves_service or returns or any(gpu not in node.bad_gpus for gpu in wish.bad_gpus)


def _order(wish: Wish) -> tuple[int, str]:
    return _first_evidence_ms(wish.case), wish.case.node.name


def _first_evidence_ms(case: NodeCase) -> int:
    return min((each.evidence_ms for each in case.findings if each.severity is Severity.BAD), default=0)
