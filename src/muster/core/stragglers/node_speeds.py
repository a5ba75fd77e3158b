"""How fast nodes were compared with their peers, job after job: whether a slow one was always slow."""

from muster.model.ids import NodeName
from muster.model.limits import NODES_PER_CLUSTER

WEIGHT = 4
"""The newest attempt counts for one part in this many."""


class NodeSpeeds:
    """For each node, the busy time of its ranks over that of their peers in past attempts, in thousandths."""

    def __init__(self) -> None:
        self._usual_milli: dict[NodeName, int] = {}

    def learn(self, node: NodeName, relative_milli: int) -> None:
        """An attempt is over in which the ranks of this node were so fast on average."""
        before = self._usual_milli.pop(node, relative_milli)
        self._usual_milli[node] = before + (relative_milli - before) // WEIGHT
        if len(self._usual_milli) > NODES_PER_CLUSTER:
            del self._usual_milli[next(iter(self._usual_milli))]

    def usual_milli(self, node: NodeName) -> int:
        """The ratio in past attempts; 0 when there were none."""
        return self._usual_milli.get(node, 0)
