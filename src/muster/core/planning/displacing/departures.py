"""What comes free without another eviction: the GPUs of jobs that were told to leave, before or in this cycle.

It is asked for under a horizon: without what is promised to others before a gang would be gone.
"""

from collections.abc import Callable

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.emptied import Emptied
from muster.core.cluster.footprint import footprint_of
from muster.core.cluster.node_use import Footprint, NodeUse
from muster.core.cluster.tenancy import UNSEEN
from muster.core.planning.displacing.victims import Victim
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId
from muster.model.job import beyond


class Departures:
    """All jobs that were told to leave or to shrink. No other job can preempt them any more."""

    def __init__(self, draft: PlanDraft, strike_off: Callable[[JobId], None], horizon: Capacity | None = None) -> None:
        """`horizon` is what may be used now; None for what a job that never ends may use."""
        self._draft = draft
        self._horizon = horizon
        self._strike_off = strike_off
        self._emptied: Emptied | None = None
        self._leaving: dict[int, list[NodeUse]] = {}
        """What they use, by node."""
        self._told = 0

    @property
    def horizon(self) -> Capacity:
        """What may be used now, with all of them."""
        return self._draft.horizons.closed if self._horizon is None else self._horizon

    def capacity(self) -> Capacity:
        """What will be free under the horizon once they are gone."""
        emptied = self.call_roll()
        touched = emptied.touched()
        if touched:
            emptied.renew(touched, self._on_node)
        return emptied.capacity

    def call_roll(self) -> Emptied:
        """Take note of jobs that were told to leave since the last call."""
        draft, footprints = self._draft, self._draft.snapshot.footprints
        if self._emptied is None:
            self._emptied, self._leaving, self._told = Emptied(self.horizon), {}, len(draft.evictions)
            for job_id in (*draft.snapshot.departing, *draft.leaving):
                self._leave(footprints[job_id])
            for job_id, resize in draft.resizes.items():
                job = draft.snapshot.running[job_id]
                self._leave(footprint_of(job.spec, beyond(job.workers, resize.workers), draft.setting.tree, UNSEEN))
            for job_id in draft.evictions:
                self._strike_off(job_id)
        elif self._told < len(draft.evictions):
            told = list(draft.evictions)[self._told :]
            self._told = len(draft.evictions)
            for job_id in told:
                self._strike_off(job_id)
                self._leave(footprints[job_id])
        return self._emptied

    def add(self, shrunk: Victim) -> None:
        """An elastic job gives up some workers."""
        self._strike_off(shrunk.job.id)
        if self._emptied is not None:  # else it is found among those that shrink when this is asked for
            self.call_roll()
            self._leave(shrunk.footprint)

    def _leave(self, footprint: Footprint) -> None:
        assert self._emptied is not None
        for use in footprint:
            self._leaving.setdefault(use.node, []).append(use)
        self._emptied.renew([use.node for use in footprint], self._on_node)

    def _on_node(self, node: int) -> list[NodeUse]:
        return self._leaving.get(node, [])

    def forget(self) -> None:
        """A job that was told to leave may stay: find out anew which jobs leave."""
        self._emptied = None
