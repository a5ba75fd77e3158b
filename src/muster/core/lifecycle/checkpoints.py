"""Checkpoints: what to resume from, how often to save, what to delete.

Decides over what the checkpoint store has listed; touches no storage.
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
    """How far training had come."""
    saved_ms: int
    is_complete: bool
    """Its manifest was written, which happens last."""
    in_use: bool = False
    """Somebody is reading it: an attempt that resumes, or a copy to durable storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRecord:
    """What has been seen of failures so far: so many in so much time of nodes."""

    failures: int = 0
    node_ms: int = 0
    """Summed over nodes: two nodes watched for an hour count two hours."""


NO_FAILURES = FailureRecord()


def newest_complete(checkpoints: Iterable[Checkpoint]) -> Checkpoint | None:
    """What to resume from: the complete checkpoint that is furthest along, or None to begin anew."""
    return max((each for each in checkpoints if each.is_complete), key=_age_order, default=None)


def to_delete(checkpoints: Iterable[Checkpoint], *, keep: int) -> tuple[Checkpoint, ...]:
    """What may go, oldest first, when the `keep` newest complete ones stay.

    Never the newest complete one and never one in use. An incomplete one goes once a newer one is complete: until then
    it may still be being written.
    """
    in_order = sorted(checkpoints, key=_age_order)
    complete = [each for each in in_order if each.is_complete]
    if not complete:
        return ()
    kept = {each.name for each in complete[-max(keep, 1) :]}
    newest = _age_order(complete[-1])
    return tuple(each for each in in_order if each.name not in kept and not each.in_use and _age_order(each) < newest)


def save_interval_ms(spec: CheckpointSpec, *, cost_ms: int | None, nodes: int, record: FailureRecord) -> int:
    """How long a job trains between two saves: what it asked for, or what its measured cost makes best."""
    if spec.every_ms is not None:
        return max(spec.every_ms, CHECKPOINT_EVERY_MIN_MS)
    if cost_ms is None:
        return CHECKPOINT_EVERY_MS
    return best_interval_ms(cost_ms=cost_ms, mtbf_ms=gang_mtbf_ms(nodes=nodes, record=record))


def best_interval_ms(*, cost_ms: int, mtbf_ms: int) -> int:
    """The training time between saves that loses least, to saving and to repeated work together.

    Daly's refinement of Young's square root of twice cost times mean time between failures. Where saving costs more
    than twice that mean nothing helps, and the mean itself is the answer. Within the named limits.
    """
    if cost_ms >= 2 * mtbf_ms:
        interval_ms = mtbf_ms
    else:
        young_ms = isqrt(2 * cost_ms * mtbf_ms)
        interval_ms = young_ms - 2 * cost_ms // 3 + young_ms * cost_ms // (18 * mtbf_ms)
    return min(max(interval_ms, CHECKPOINT_EVERY_MIN_MS), CHECKPOINT_EVERY_MAX_MS)


def gang_mtbf_ms(*, nodes: int, record: FailureRecord) -> int:
    """Mean time until one of this many nodes fails.

    Starts from what large clusters have published and moves to what was seen here as that grows: one failure in the
    published time is counted in with those observed.
    """
    node_mtbf_ms = (NODE_MTBF_MS + record.node_ms) // (1 + record.failures)
    return max(node_mtbf_ms // max(nodes, 1), 1)


def _age_order(checkpoint: Checkpoint) -> tuple[int, int, str]:
    return (checkpoint.step, checkpoint.saved_ms, checkpoint.name)
