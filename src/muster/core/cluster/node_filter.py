"""Which nodes a job may use at all: by labels, names and engines, and whether they run images and share GPUs."""

from muster.core.cluster.tree import Tree
from muster.model.ids import GpuType
from muster.model.machines.constraint import parse_constraint, satisfies
from muster.model.spec import JobSpec

FilterKey = tuple[str, tuple[str, ...], tuple[str, ...], str, bool]
ANY: FilterKey = ("", (), (), "", False)


def filter_key(spec: JobSpec) -> FilterKey | None:
    """Jobs with equal keys may use the same nodes; None for a job that accepts every node."""
    if not (spec.constraint or spec.nodelist or spec.exclude or spec.engine or spec.image):
        return None
    return (spec.constraint, spec.nodelist, spec.exclude, spec.engine, bool(spec.image))


def node_wishes(spec: JobSpec) -> tuple[str, ...]:
    """What a job says about the nodes that it accepts, as in its file. Whether they run images is not among it."""
    wishes = (
        (spec.constraint, f"`constraint: {spec.constraint}`"),
        (spec.nodelist, "`nodelist`"),
        (spec.exclude, "`exclude`"),
        (spec.engine, f"`engine: {spec.engine}`"),
    )
    return tuple(said for value, said in wishes if value)


class NodeFilter:
    """The nodes of one tree that some jobs may use. Jobs that say the same share one object."""

    __slots__ = ("allows", "gpu_types", "nodes")

    def __init__(self, key: FilterKey, tree: Tree, *, shares_gpus: bool = False) -> None:
        constraint, nodelist, exclude, engine, has_image = key
        term = parse_constraint(constraint) if constraint else None
        wanted, unwanted = dict.fromkeys(nodelist), dict.fromkeys(exclude)
        self.allows: list[bool] = [
            (not wanted or node.name in wanted)
            and node.name not in unwanted
            and (term is None or satisfies(node.known_as, term))
            and (not engine or node.engine == engine)
            and (not has_image or node.runs_images)
            and not (shares_gpus and node.whole_gpus)
            for node in tree.nodes
        ]
        """By node number."""
        self.nodes: list[int] = [index for index, is_allowed in enumerate(self.allows) if is_allowed]
        types = {tree.nodes[index].gpu_type: None for index in self.nodes if tree.nodes[index].gpus}
        self.gpu_types: tuple[GpuType, ...] = tuple(sorted(types))
        """The types of GPU that these nodes have."""
