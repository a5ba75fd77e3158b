"""Which unacknowledged reports need not be kept: a job may save for days while no control plane listens. Pure.

Only reports on checkpoints are ever dropped. Of those that say that everything was saved, the last one counts. Of the
parts that ranks have saved, the newest few saves count, because a save is complete only with the parts of all nodes.
"""

from collections.abc import Mapping

from muster.model.node_limits import CHECKPOINT_REPORTS_KEPT, SHARD_REPORTS_KEPT, SHARD_STEPS_KEPT
from muster.model.reports import CheckpointDamaged, CheckpointSaved, CheckpointUploaded, ShardsSaved

_KEPT = {
    CheckpointSaved.__name__: 1,
    CheckpointUploaded.__name__: CHECKPOINT_REPORTS_KEPT,
    CheckpointDamaged.__name__: CHECKPOINT_REPORTS_KEPT,
}

SUPERSEDED = frozenset((*_KEPT, ShardsSaved.__name__))
"""The types of reports of which older ones are dropped."""


def unneeded(kind: str, steps: Mapping[int, int]) -> list[int]:
    """The numbers of reports that need not be kept. `steps` has, by number, all of one type and attempt, in order."""
    if kind in _KEPT:
        return list(steps)[: -_KEPT[kind]]
    by_step: dict[int, list[int]] = {}
    for number, step in steps.items():
        by_step.setdefault(step, []).append(number)
    # By time and not by step: after a restart inside of the attempt, the newest save may have a lower step.
    old = sorted(by_step, key=lambda step: by_step[step][-1])[:-SHARD_STEPS_KEPT]
    return [each for step in by_step for each in (by_step[step] if step in old else by_step[step][SHARD_REPORTS_KEPT:])]
