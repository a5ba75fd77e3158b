"""Gangs of real programs on two virtual nodes of this machine."""

import time
from collections.abc import Callable

from muster.backends.local.logs import read_log
from muster.model.events import WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.instructions import StartWorkers
from muster.model.job import Placement, Worker
from muster.model.records import evolve
from muster.model.spec import JobSpec, RoleSpec
from tests.local.machine import Machine

NODES = ("n1", "n2")

DEADLINE_S = 60.0
"""How long a gang may take: importing PyTorch alone takes seconds, and ten times as many on a machine that is busy."""


def a_gang(*places: str, gpus: int = 0) -> Placement:
    """One worker for each named node, with so many GPUs of its own."""
    used: dict[str, int] = {}
    gang = []
    for rank, node in enumerate(places):
        first = used.get(node, 0)
        used[node] = first + gpus
        own = tuple(range(first, first + gpus))
        gang.append(Worker(rank=rank, role="worker", node=NodeName(node), gpus=own))
    return tuple(gang)


def begin(
    machine: Machine,
    spec: JobSpec,
    gang: Placement,
    *,
    workers: Placement | None = None,
    job: str = "job-1",
    attempt: int = 1,
    generation: int = 1,
) -> StartWorkers:
    """Start a gang, or some workers of one."""
    start = StartWorkers(
        job=JobId(job),
        attempt=attempt,
        generation=generation,
        spec=spec,
        workers=gang if workers is None else workers,
        gang=gang,
        run=f"{job}-run",
    )
    machine.backend.send(start)
    return start


def elastic(spec: JobSpec, fewest: int, most: int) -> JobSpec:
    role: RoleSpec = evolve(spec.roles[0], workers_min=fewest, workers_max=most)
    return evolve(spec, roles=(role,))


def codes(machine: Machine, count: int, *, job: str = "job-1") -> dict[int, int]:
    """The exit codes by rank, once so many workers have ended."""

    def ended() -> dict[int, int]:
        exits = [event for event in machine.poll() if isinstance(event, WorkersExited) and event.job == job]
        return {rank: event.exit_code for event in exits for rank in event.ranks}

    wait_until(lambda: len(ended()) >= count, lambda: f"{count} ends of {job}, heard {machine.events}")
    return ended()


def output(machine: Machine, rank: int, *, job: str = "job-1", attempt: int = 1) -> str:
    return read_log(machine.home, JobId(job), attempt, rank).data.decode()


def prints(machine: Machine, text: str, *, rank: int = 0, job: str = "job-1", attempt: int = 1) -> str:
    """Wait until a worker has printed this."""
    wait_until(lambda: text in output(machine, rank, job=job, attempt=attempt), f"{text!r} of {job}")
    return output(machine, rank, job=job, attempt=attempt)


def wait_until(look: Callable[[], object], what: str | Callable[[], str]) -> None:
    give_up_s = time.monotonic() + DEADLINE_S
    while not look():
        assert time.monotonic() < give_up_s, f"in vain: {what if isinstance(what, str) else what()}"
        time.sleep(0.02)
