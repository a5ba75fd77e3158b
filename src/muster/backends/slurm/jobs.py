"""Slurm's jobs as Muster's allocations: what `squeue` says of them. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from muster.backends.allocations.engine import AllocationId, AllocationPhase, SeenAllocation
from muster.backends.slurm.fields import hosts_of
from muster.model.ids import NodeName
from muster.model.job import Cause

SEPARATOR = "\x1f"
FORMAT = SEPARATOR.join(("%i", "%T", "%r", "%N", "%k"))
"""Job, state, reason, nodes and comment."""

_WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
_RUNNING = ("RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING")
_ENDING = ("COMPLETING", "STAGE_OUT")

_CAUSES: Final[dict[str, tuple[Cause, str]]] = {
    "CANCELLED": (Cause.CANCELLED, "cancelled in Slurm"),
    "PREEMPTED": (Cause.PREEMPTED, "preempted in Slurm"),
    "TIMEOUT": (Cause.TIMEOUT, "its time in Slurm was over"),
    "DEADLINE": (Cause.TIMEOUT, "its deadline in Slurm was over"),
    "OUT_OF_MEMORY": (Cause.OOM, "it ran out of the memory that Slurm gave it"),
    "NODE_FAIL": (Cause.NODE_FAILURE, "Slurm lost one of its nodes"),
    "BOOT_FAIL": (Cause.START_FAILURE, "Slurm could not boot a node for it"),
    "FAILED": (Cause.NODE_FAILURE, "its job in Slurm failed"),
    "REVOKED": (Cause.CANCELLED, "revoked in Slurm"),
}
"""Why Slurm ended a job. One that has completed ended in order."""

_REASONS = ("", "None", "(null)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJobRow:
    """A line of squeue about a job of Muster. A heterogeneous job has one for each of its parts."""

    id: AllocationId
    engine_id: str
    state: str
    reason: str
    nodes: tuple[NodeName, ...]


def rows_of(text: str, mark: str) -> Iterator[SlurmJobRow]:
    """The jobs of this Muster among those that squeue has printed."""
    for line in text.splitlines():
        job, state, reason, nodes, comment = (*line.split(SEPARATOR), "", "", "", "")[:5]
        words = comment.split()
        if len(words) == 3 and words[:2] == ["muster", mark]:
            yield SlurmJobRow(
                id=AllocationId(words[2]),
                engine_id=job.partition("+")[0],
                state=state,
                reason=reason,
                nodes=tuple(map(NodeName, hosts_of(nodes))),
            )


def comment_of(mark: str, allocation: AllocationId) -> str:
    """What leads from a job of Slurm back to the allocation."""
    return f"muster {mark} {allocation}"


def seen(rows: Iterable[SlurmJobRow]) -> tuple[SeenAllocation, ...]:
    """The allocations, each of all parts of its job."""
    parts: dict[tuple[AllocationId, str], list[SlurmJobRow]] = {}
    for row in rows:
        parts.setdefault((row.id, row.engine_id), []).append(row)
    return tuple(_joined(found) for found in parts.values())


def _joined(parts: list[SlurmJobRow]) -> SeenAllocation:
    """One allocation. It runs while any part does, because an agent is on each; it waits until all have begun."""
    phases = [_phase(part.state) for part in parts]
    order = (AllocationPhase.WAITING, AllocationPhase.RUNNING, AllocationPhase.ENDING, AllocationPhase.ENDED)
    phase = next(each for each in order if each in phases)
    first = next((part for part in parts if part.state in _CAUSES), parts[0])
    cause, because = _CAUSES.get(first.state, (None, "")) if phase is AllocationPhase.ENDED else (None, "")
    reason = "" if first.reason in _REASONS else first.reason
    said = f"{because} ({reason})" if because and reason else because
    if phase is AllocationPhase.WAITING and reason:
        said = f"it waits in Slurm ({reason})"
    return SeenAllocation(
        id=first.id,
        engine_id=first.engine_id,
        phase=phase,
        nodes=tuple(node for part in parts if _phase(part.state) is AllocationPhase.RUNNING for node in part.nodes),
        cause=cause,
        because=said,
    )


def _phase(state: str) -> AllocationPhase:
    if state in _WAITING:
        return AllocationPhase.WAITING
    if state in _RUNNING:
        return AllocationPhase.RUNNING
    return AllocationPhase.ENDING if state in _ENDING else AllocationPhase.ENDED
