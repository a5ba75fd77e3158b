"""What must be true of the nodes where workers are: wanted, not refused, shared only if all agree, and not reserved."""

from collections.abc import Iterator

from muster.core.lifecycle import occupied
from muster.engine.folding.state import State
from muster.model.ids import NodeName
from muster.model.job import Job, JobState, Worker
from muster.model.machines.constraint import parse_constraint, satisfies
from muster.model.machines.reservation import Reservation
from muster.model.team import ancestors


def seat_problems(state: State, job: Job, worker: Worker, *, had_seat: bool = False) -> Iterator[str]:
    """What is wrong with the node of a worker that was just placed.

    A gang that starts again at another size keeps seats that it had (`had_seat`), and ends when it would have. So a
    reservation that was made meanwhile does not shut it out before it begins.
    """
    node, spec = state.nodes[worker.node], job.spec
    if node.name in spec.exclude:
        yield f"is placed on {node.name}, which it excludes"
    if spec.image and not node.runs_images:
        yield f"is placed on {node.name}, which runs no images"
    if spec.constraint and not satisfies(node.known_as, parse_constraint(spec.constraint)):
        yield f"is placed on {node.name}, which is not {spec.constraint}"
    for other in _others_on(state, job, node.name):
        if spec.exclusive or other.spec.exclusive:
            yield f"is placed on {node.name} beside {other.id}, and one of them wants nodes for itself"
    for reservation in state.snapshot.setting.reservations:
        if node.name in reservation.nodes and not _is_for(reservation, job):
            if reservation.from_ms <= state.now_ms < reservation.to_ms:
                yield f"is placed on {node.name}, which {reservation.name} has now"
            elif not had_seat and state.now_ms < reservation.from_ms < (job.ends_by_ms or reservation.to_ms):
                yield f"is placed on {node.name}, which {reservation.name} has before it ends"


def outsiders(state: State, now_ms: int) -> Iterator[str]:
    """Jobs that are on reserved nodes and were not told to leave although the engine has just ticked."""
    for reservation in state.snapshot.setting.reservations:
        if reservation.from_ms <= now_ms < reservation.to_ms:
            for job in (state.jobs[name] for name in state.occupying):
                is_there = any(worker.node in reservation.nodes for worker in job.workers)
                if is_there and job.state in (JobState.STARTING, JobState.RUNNING) and not _is_for(reservation, job):
                    yield f"{job.id}: is on a node that {reservation.name} has, and was not told to leave"


def _others_on(state: State, job: Job, node: NodeName) -> Iterator[Job]:
    for name in state.occupying:
        if name != job.id and any(worker.node == node for worker in occupied(state.jobs[name])):
            yield state.jobs[name]


def _is_for(reservation: Reservation, job: Job) -> bool:
    is_member = reservation.team != "" and reservation.team in ancestors(job.spec.team)
    return is_member or (reservation.user != "" and reservation.user == job.user)
