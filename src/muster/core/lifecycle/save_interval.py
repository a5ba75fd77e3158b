"""How often a job saves itself: as it asked for, or as its measured cost and the failures of its nodes make it best.

The interval is how much work may be lost. A save protects the work before it only once it is safe, and until then the
work since the save before it is at risk, too. So saves begin earlier than an interval apart, by twice the time that a
save took lately: on a machine that became busy the next one takes longer.
"""

from dataclasses import dataclass
from math import isqrt

from muster.model.limits import (
    CHECKPOINT_ASKED_MIN_MS,
    CHECKPOINT_EVERY_MAX_MS,
    CHECKPOINT_EVERY_MIN_MS,
    CHECKPOINT_EVERY_MS,
    NODE_MTBF_MS,
)
from muster.model.spec import CheckpointSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRecord:
    """The failures seen so far, and the node time in which they were seen."""

    failures: int = 0
    node_ms: int = 0
    """Summed over nodes: two nodes watched for one hour count as two hours."""


NO_FAILURES = FailureRecord()


def save_interval_ms(spec: CheckpointSpec, *, cost_ms: int | None, nodes: int, record: FailureRecord) -> int:
    """How long a job trains between two saves: what it asked for, or the best interval for its measured cost."""
    if spec.every_ms is not None:
        return max(spec.every_ms, CHECKPOINT_ASKED_MIN_MS)
    if cost_ms is None:
        return CHECKPOINT_EVERY_MS
    return best_interval_ms(cost_ms=cost_ms, mtbf_ms=gang_mtbf_ms(nodes=nodes, record=record))


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveTime:
    """How long a save takes."""

    cost_ms: int = 0
    """How long training stands still for it."""
    took_ms: int = 0
    """From its step until all parts are on disk."""

    def safe_ms(self, nodes: int) -> int:
        """From its step until it survives the loss of a node.

        In a gang of several nodes that is when a neighbour has a copy, which takes about as long as writing took.
        """
        return self.took_ms + (max(self.took_ms - self.cost_ms, 0) + COPY_PAUSE_MS if nodes > 1 else 0)


FIRST_SAVE_MS = 30_000
"""After how long a save is expected to be safe while none was measured."""

LONGER_TIMES = 2
"""The next save may take so many times as long as those before it, and still no more than an interval is at risk."""

COPY_PAUSE_MS = 500
"""How long after a part was written its copying begins: uploaders look this often."""


def pause_ms(every_ms: int, *, safe_ms: int, took_ms: int) -> int:
    """From the beginning of a save to that of the next one, so that no more work than `every_ms` is ever at risk.

    `safe_ms` is how long the last saves took until they were safe; the next one may take twice as long. That is
    possible while a save is safe within half of the interval. Saves never begin less than half an interval apart, nor
    before the one before is complete. The longer saves take beyond that, the more time is left between them,
    so that a training whose saves take longer than its interval does not save all the time.
    """
    return max(every_ms - LONGER_TIMES * safe_ms, every_ms // 2, 2 * took_ms - every_ms // 2)


def best_interval_ms(*, cost_ms: int, mtbf_ms: int) -> int:
    """The training time between saves that loses the least time to saving and to repeated work together.

    Young's formula is the square root of two times the cost times the mean time between failures (MTBF). This is Daly's
    refinement of it. If a save costs twice the MTBF or more, no interval helps, and the result is the MTBF itself. The
    result stays within `CHECKPOINT_EVERY_MIN_MS` and `CHECKPOINT_EVERY_MAX_MS`.
    """
    if cost_ms >= 2 * mtbf_ms:
        interval_ms = mtbf_ms
    else:
        young_ms = isqrt(2 * cost_ms * mtbf_ms)
        interval_ms = young_ms - 2 * cost_ms // 3 + young_ms * cost_ms // (18 * mtbf_ms)
    return min(max(interval_ms, CHECKPOINT_EVERY_MIN_MS), CHECKPOINT_EVERY_MAX_MS)


def gang_mtbf_ms(*, nodes: int, record: FailureRecord) -> int:
    """Mean time until one of this many nodes fails.

    It starts from the published time of large clusters and moves towards what is observed here: one failure in the
    published time is added to the observed failures.
    """
    node_mtbf_ms = (NODE_MTBF_MS + record.node_ms) // (1 + record.failures)
    return max(node_mtbf_ms // max(nodes, 1), 1)
