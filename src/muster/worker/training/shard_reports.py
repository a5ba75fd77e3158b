"""Parts of checkpoints that ranks have saved, until they are reported: those of a node and a moment together."""

from collections.abc import Callable
from dataclasses import dataclass, field

from muster.model.ids import JobId, NodeName
from muster.model.node_limits import SHARD_STEPS_KEPT, SHARDS_TOGETHER_MS
from muster.model.reports import ShardsSaved
from muster.worker.loop import Loop, Timer
from muster.worker.notices import ShardWritten


@dataclass(slots=True)
class _Save:
    """The parts of one save that wait to be reported."""

    ranks: dict[int, None] = field(default_factory=dict)
    bytes: int = 0
    cost_ms: int = 0
    took_ms: int = 0


class ShardReports:
    """The parts that one job has saved on this node in one attempt."""

    def __init__(
        self,
        job: JobId,
        attempt: int,
        node: NodeName,
        loop: Loop,
        report: Callable[[ShardsSaved], None],
        clock: Callable[[], int],
    ) -> None:
        self._place = (job, attempt, node)
        self._loop = loop
        self._report = report
        self._clock = clock
        self._waiting: dict[tuple[int, int], _Save] = {}
        """By step and world."""
        self._timer: Timer | None = None

    def add(self, shard: ShardWritten) -> None:
        """Report this part within a moment. No honest job saves more steps than are kept within it."""
        if (shard.step, shard.world) not in self._waiting and len(self._waiting) >= SHARD_STEPS_KEPT:
            return
        save = self._waiting.setdefault((shard.step, shard.world), _Save())
        if shard.rank not in save.ranks:
            save.ranks[shard.rank] = None
            save.bytes += shard.bytes
        save.cost_ms = max(save.cost_ms, shard.cost_ms)
        save.took_ms = max(save.took_ms, shard.took_ms)
        if self._timer is None:
            self._timer = self._loop.after(SHARDS_TOGETHER_MS, self.flush)

    def flush(self) -> None:
        """Report all that waits, now: a worker is about to be reported as gone, and later its parts would not count."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        job, attempt, node = self._place
        for (step, world), save in waiting.items():
            self._report(
                ShardsSaved(
                    at_ms=self._clock(),
                    job=job,
                    attempt=attempt,
                    node=node,
                    step=step,
                    world=world,
                    ranks=tuple(sorted(save.ranks)),
                    bytes=save.bytes,
                    cost_ms=save.cost_ms,
                    took_ms=save.took_ms,
                )
            )
