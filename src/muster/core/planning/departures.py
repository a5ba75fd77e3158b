"""What comes free without another eviction: the GPUs of jobs that were told to leave, before or in this cycle."""

from collections.abc import Callable

from muster.core.cluster.capacity import Capacity
from muster.core.planning.draft import PlanDraft
from muster.core.planning.resizing import given_up
from muster.core.planning.victim_search import Candidates
from muster.core.planning.victims import Victim, as_leaver, leavers, workers_of
from muster.model.ids import JobId


class Departures:
    """All jobs that were told to leave or to shrink. No other job can preempt them any more."""

    def __init__(self, draft: PlanDraft, strike_off: Callable[[JobId], None]) -> None:
        self._draft = draft
        self._strike_off = strike_off
        self._leaving: Candidates | None = None
        self._told = 0

    def capacity(self) -> Capacity:
        """What will be free and not promised once they are gone."""
        leaving = self.call_roll()
        leaving.catch_up()
        return leaving.empty

    def call_roll(self) -> Candidates:
        """All of them, including jobs that were told to leave since the last call."""
        draft = self._draft
        if self._leaving is not None and self._told == len(draft.evictions):
            return self._leaving
        if self._leaving is None:
            self._leaving = Candidates(draft.horizons.closed, [*leavers(draft), *self._given_up()])
            for job_id in draft.evictions:
                self._strike_off(job_id)
        else:
            for job_id in list(draft.evictions)[self._told :]:
                self._strike_off(job_id)
                self._leaving.add(as_leaver(draft, job_id))
        self._told = len(draft.evictions)
        return self._leaving

    def _given_up(self) -> list[Victim]:
        """Workers that elastic jobs give up in this plan."""
        draft = self._draft
        jobs = [(draft.snapshot.running[job_id], resize) for job_id, resize in draft.resizes.items()]
        return [workers_of(draft, job, given_up(job, resize.workers)) for job, resize in jobs]

    def add(self, shrunk: Victim) -> None:
        """An elastic job gives up some workers."""
        self._strike_off(shrunk.job.id)
        self.call_roll().add(shrunk)

    def forget(self) -> None:
        """A job that was told to leave may stay: find out anew which jobs leave."""
        self._leaving = None
