"""Runs that are over for good: their hot checkpoints are removed once nothing of them is copied any more."""

from collections.abc import Callable, Collection, Iterable

from muster.worker.training.hot_tier import HotTier

RUNS_OVER_MOST = 10_000
"""Runs that are over while their checkpoints are still copied: far more than a node has uploaders."""


class RunsOver:
    """The hot checkpoints of one node, and which of them are to go."""

    def __init__(self, hot_tier: HotTier, in_use: Callable[[], Collection[str]]) -> None:
        """`in_use` says which runs have a worker here, or checkpoints that are being copied."""
        self._hot_tier = hot_tier
        self._in_use = in_use
        self._over: dict[str, None] = {}

    def end(self, runs: Iterable[object]) -> None:
        """These runs are over. What is no name of a run is passed over."""
        for run in runs:
            if isinstance(run, str) and len(self._over) < RUNS_OVER_MOST:
                self._over[run] = None
        for run in tuple(self._over):
            self.look_at(run)

    def look_at(self, run: str) -> None:
        """Remove the hot checkpoints of a run, if it is over and nothing of it is copied any more."""
        if run in self._over and run not in self._in_use():
            del self._over[run]
            self._hot_tier.remove([run])

    def sweep(self) -> None:
        """Remove what is left of runs that nobody asks about any more."""
        self.end(())
        self._hot_tier.sweep(self._in_use())
