"""Which nodes a job may use at all, by their labels and their names."""

from muster.core.cluster.tree import Tree
from muster.model.ids import GpuType
from muster.model.machines.constraint import parse_constraint, satisfies
from muster.model.spec import JobSpec

FilterKey = tuple[str, tuple[str, ...], tuple[str, ...]]


def filter_key(spec: JobSpec) -> FilterKey | None:
    """Jobs with equal keys may use the same nodes; None for a job that accepts every node."""
    if not (spec.constraint or spec.nodelist or spec.exclude):
        return None
    return (spec.constraint, spec.nodelist, spec.exclude)


class NodeFilter:
    """The nodes of one tree that some jobs may use. Jobs that say the same share one object."""

    __slots__ = ("allows", "gpu_types", "nodes")

    def __init__(self, key: FilterKey, tree: Tree) -> None:
        constraint, nodelist, exclude = key
        term = parse_constraint(constraint) if constraint else None
        wanted, unwanted = dict.fromkeys(nodelist), dict.fromkeys(exclude)
        self.allows: list[bool] = [
            (not wanted or node.name in wanted)
            and node.name not in unwanted
            and (term is None or satisfies(node.known_as, term))
            for node in tree.nodes
        ]
        """By node number."""
        self.nodes: list[int] = [index for index, is_allowed in enumerate(self.allows) if is_allowed]
        types = {tree.nodes[index].gpu_type: None for index in self.nodes if tree.nodes[index].gpus}
        self.gpu_types: tuple[GpuType, ...] = tuple(sorted(types))
        """The types of GPU that these nodes have."""
