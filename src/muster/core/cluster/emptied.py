"""Capacities as they would be if some jobs were gone. They are kept from plan to plan and brought up to date by node.

On a large cluster most nodes stay what they were between two plans, and so does what could be free on them.
"""

from collections.abc import Callable, Iterable, Sequence

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.node_use import NodeUse
from muster.model.ids import JobId
from muster.model.limits import EMPTIED_CAPACITIES

Gone = Callable[[int], Sequence[NodeUse]]
"""What the jobs that are thought to be gone use on a node."""


class Emptied:
    """A fork of a base capacity in which some jobs are gone."""

    def __init__(self, base: Capacity) -> None:
        self.capacity = base.fork()
        self._stamps = base.stamps[:]
        """What each node of the base was when it was last taken over."""
        self._base = base
        self._cursor = len(base.touched)

    def follow(self, base: Capacity) -> list[int]:
        """Be a fork of another base from now on. Returns the nodes that are other there; `renew` has to be called."""
        self._base, self._cursor = base, len(base.touched)
        self.capacity.follow(base)
        pairs = zip(self._stamps, base.stamps, strict=True)
        return [node for node, (known, stamp) in enumerate(pairs) if known != stamp]

    def touched(self) -> list[int]:
        """Nodes on which the base changed since the last call; `renew` has to be called."""
        touched = self._base.touched[self._cursor :]
        self._cursor = len(self._base.touched)
        return list(dict.fromkeys(touched)) if touched else touched

    def renew(self, nodes: Iterable[int], gone: Gone) -> None:
        """Take over the present state of some nodes, without the jobs that are gone."""
        capacity, base = self.capacity, self._base
        for node in nodes:
            capacity.reset_node(node, base)
            self._stamps[node] = base.stamps[node]
            uses = gone(node)
            if uses:
                capacity.give_on(node, uses)
        capacity.forget_marks()


class KeptEmptied:
    """An emptied capacity, and what decided which jobs are gone in it."""

    def __init__(self, emptied: Emptied, snapshot_capacity: Capacity) -> None:
        self.emptied = emptied
        self.belongs_to = snapshot_capacity
        """The capacity that all forks come from. After it was made anew, nodes have other numbers."""
        self.started_by_ms = 0
        """Jobs that started later were protected by the minimum run time."""
        self.changed = 0
        """How many changes of jobs (`EmptiedCapacities.changed`) were seen."""
        self.struck: dict[int, None] = {}
        """Nodes of jobs that were told to leave in a plan: if it was not carried out, they are candidates again."""


JOBS_NOTED = 10_000
"""Jobs with other properties that are remembered. Plans that need to know come much sooner."""


class EmptiedCapacities:
    """The emptied capacities that were used last, by the rights to stop jobs that they were made for."""

    def __init__(self) -> None:
        self._kept: dict[object, KeptEmptied] = {}
        self.changed: list[JobId] = []
        """Running jobs that got other properties, such as another tier, without a change of what they use."""

    def note(self, job_id: JobId) -> None:
        """A running job has other properties. After many of them it costs less to make everything anew."""
        self.changed.append(job_id)
        if len(self.changed) > JOBS_NOTED:
            self._kept.clear()
        if not self._kept:
            self.changed.clear()

    def find(self, rights: object, snapshot_capacity: Capacity) -> KeptEmptied | None:
        """The one for these rights, if it is still of use."""
        kept = self._kept.get(rights)
        return kept if kept is not None and kept.belongs_to is snapshot_capacity else None

    def keep(self, rights: object, kept: KeptEmptied) -> None:
        """Keep one for the next plan. The one that was not used for the longest time goes."""
        self._kept.pop(rights, None)
        self._kept[rights] = kept
        if len(self._kept) > EMPTIED_CAPACITIES:
            del self._kept[next(iter(self._kept))]
