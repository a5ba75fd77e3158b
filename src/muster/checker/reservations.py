"""Nodes that are set aside: nothing is placed there that reaches into a window to which it is not admitted."""

from collections.abc import Iterator

from muster.checker.facts import Facts, Stay
from muster.model.machines.reservation import Reservation
from muster.model.team import ancestors


def reservation_problems(facts: Facts) -> Iterator[str]:
    """New stays on reserved nodes. What ran there before the reservation was made is not the plan's doing."""
    for stay in facts.stays():
        if stay.is_new:
            for reservation in facts.scenario.reservations:
                yield from _one(facts, stay, reservation)


def _one(facts: Facts, stay: Stay, reservation: Reservation) -> Iterator[str]:
    job = facts.waiting.get(stay.job) or facts.running[stay.job]
    is_member = reservation.team != "" and reservation.team in ancestors(stay.spec.team)
    is_user = reservation.user != "" and reservation.user == job.user
    first_ms, last_ms = max(stay.from_ms, reservation.from_ms), min(stay.until_ms, reservation.to_ms)
    if is_member or is_user or first_ms >= last_ms:
        return
    for node in dict.fromkeys(worker.node for worker in stay.workers if worker.node in reservation.nodes):
        yield f"{stay.job} is on {node} while {reservation.name} has it"
