"""What the server said at one moment, and the questions that find it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from muster.client.answers import Job, Node
from muster.model.job import OCCUPYING_STATES, JobState

if TYPE_CHECKING:
    from muster.client import Client

JOBS_LOOKED_AT = 500
"""How many jobs that run, and how many that wait, are asked for. `queue` counts them all."""
_WAITING_STATES = tuple(state for state in JobState if not state.holds_resources and not state.is_final)


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What the server said at one moment."""

    url: str
    present: datetime
    nodes: Sequence[Node]
    jobs: Sequence[Job]
    """Not necessarily all of them, and only those that the user may see."""
    queue: Mapping[str, Any] = field(default_factory=dict)
    """The totals of all jobs. Empty where nobody asked for them: then the jobs are counted."""

    @property
    def running(self) -> list[Job]:
        """The jobs that hold GPUs, those that started first at the top."""
        found = [job for job in self.jobs if job.state in OCCUPYING_STATES]
        return sorted(found, key=lambda job: job.started or job.submitted or self.present)

    @property
    def waiting(self) -> list[Job]:
        """The jobs that wait, those that were submitted first at the top."""
        found = [job for job in self.jobs if job.state not in OCCUPYING_STATES and not job.is_final]
        return sorted(found, key=lambda job: job.submitted or self.present)

    @property
    def totals(self) -> tuple[int, int]:
        """How many jobs run and wait."""
        return self.queue.get("running", len(self.running)), self.queue.get("waiting", len(self.waiting))

    @property
    def unlisted(self) -> tuple[int, int]:
        """How many jobs run and wait that are not in `jobs`. An array is one of them, and its tasks are counted."""
        listed = (sum(map(_running_tasks, self.running)), sum(map(_waiting_tasks, self.jobs)))
        running, waiting = (max(0, total - known) for total, known in zip(self.totals, listed, strict=True))
        return running, waiting


def _running_tasks(job: Job) -> int:
    return 1 if job.tasks is None else sum(job.tasks.get(state, 0) for state in OCCUPYING_STATES)


def _waiting_tasks(job: Job) -> int:
    if job.tasks is None:
        return int(job.state in _WAITING_STATES)
    return sum(job.tasks.get(state, 0) for state in _WAITING_STATES)


def look(client: "Client", present: datetime) -> Glance:
    """Ask the server for all that the screen shows."""
    nodes = list(client.nodes())
    running = list(client.jobs(state=OCCUPYING_STATES, limit=JOBS_LOOKED_AT))
    waiting = list(client.jobs(state=_WAITING_STATES, limit=JOBS_LOOKED_AT))
    # A job may start between two answers. What the later answer says of it counts.
    jobs = {job.id: job for job in (*running, *waiting)}
    return Glance(url=client.url, present=present, nodes=nodes, jobs=list(jobs.values()), queue=client.queue())


def snapshot(glance: Glance) -> dict[str, Any]:
    """The same for programs."""
    return {
        "queue": glance.queue,
        "nodes": [node.document for node in glance.nodes],
        "jobs": [job.document for job in glance.jobs],
    }
