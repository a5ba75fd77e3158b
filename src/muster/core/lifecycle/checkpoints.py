"""Checkpoints: what to resume from, how often to save, what to delete.

Decides from what the checkpoint store has listed. Touches no storage.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isqrt

from muster.model.limits import CHECKPOINT_EVERY_MAX_MS, CHECKPOINT_EVERY_MIN_MS, CHECKPOINT_EVERY_MS, NODE_MTBF_MS
from muster.model.spec import CheckpointSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One saved state of a job, as the store lists it."""

    name: str
    step: int
    """The training step it was saved at."""
    saved_ms: int
    is_complete: bool
    """True when its manifest was written, which happens last."""
    in_use: bool = False
    """True while it is being read, by an attempt that resumes or by a copy to durable storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRecord:
    """The failures seen so far, and the node time in which they were seen."""

    failures: int = 0
    node_ms: int = 0
    """Summed over nodes: two nodes watched for one hour count as two hours."""


NO_FAILURES = FailureRecord()


def newest_complete(checkpoints: Iterable[Checkpoint]) -> Checkpoint | None:
    """What to resume from: the complete checkpoint with the highest step, or None to begin from scratch."""
    return max((each for each in checkpoints if each.is_complete), key=_age_order, default=None)


def to_delete(checkpoints: Iterable[Checkpoint], *, keep: int) -> tuple[Checkpoint, ...]:
    """The checkpoints that may be deleted, oldest first, when the `keep` newest complete ones stay.

    Never the newest complete one, and never one in use. An incomplete one may be deleted once a newer one is complete.
    Until then a job may still be writing it.
    """
    in_order = sorted(checkpoints, key=_age_order)
    complete = [each for each in in_order if each.is_complete]
    if not complete:
        return ()
    kept = {each.name for each in complete[-max(keep, 1) :]}
    newest = _age_order(complete[-1])
    return tuple(each for each in in_order if each.name not in kept and not each.in_use and _age_order(each) < newest)


def save_interval_ms(spec: CheckpointSpec, *, cost_ms: int | None, nodes: int, record: FailureRecord) -> int:
    """How long a job trains between two saves: what it asked for, or the best interval for its measured cost."""
    if spec.every_ms is not None:
        return max(spec.every_ms, CHECKPOINT_EVERY_MIN_MS)
    if cost_ms is None:
        return CHECKPOINT_EVERY_MS
    return best_interval_ms(cost_ms=cost_ms, mtbf_ms=gang_mtbf_ms(nodes=nodes, record=record))


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


def _age_order(checkpoint: Checkpoint) -> tuple[int, int, str]:
    return (checkpoint.step, checkpoint.saved_ms, checkpoint.name)
