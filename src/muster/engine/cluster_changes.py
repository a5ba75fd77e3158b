"""Gives the engine another set of nodes, with what is known about those that stay."""

from collections.abc import Callable

from muster.engine.folding.node_folding import with_findings
from muster.engine.folding.state import State
from muster.model.events import ClusterChanged, Event, NodeLost
from muster.model.node import ClusterSpec
from muster.model.records import evolve


def replace_cluster(
    state: State, record: Callable[[Event], bool], cluster: ClusterSpec, now_ms: int, *, by: str
) -> bool:
    """Record what is different about the nodes. False when they are the same.

    A node that is gone is lost with what it ran. It stays in the cluster, in state down, while a job still has workers
    recorded there.
    """
    known = state.nodes
    staying = with_findings(cluster.nodes, state)
    names = frozenset(node.name for node in staying)
    for name in [name for name in known if name not in names]:
        record(NodeLost(at_ms=now_ms, node=name, because="it is not part of the cluster any more"))
    gone = tuple(known[name] for name in known if name not in names and state.jobs_on(name))
    wanted = evolve(cluster, nodes=(*staying, *gone))
    is_same = wanted == evolve(state.snapshot.cluster, nodes=tuple(known.values()))
    if is_same and cluster == state.configured_cluster:
        return False
    record(ClusterChanged(at_ms=now_ms, cluster=wanted, by=by, configured=cluster))
    return not is_same
