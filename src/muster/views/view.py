"""What readers see: everything at one version of the log, as values that never change.

The writer publishes a new view after each write. A reader takes the newest view and keeps it while it answers one
request. It sees only what is durable, and nothing that is written later.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from immutables import Map

from muster.model.array import ArrayRecord, JobRecord
from muster.model.ids import JobId, LevelName, NodeName
from muster.model.job import Job
from muster.model.machines.quarantine import FoundGang
from muster.model.machines.reservation import Reservation
from muster.model.node import HealthRecord, Node
from muster.model.plan import Promise
from muster.model.saved_state import TeamUsageRecord
from muster.model.scenario import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is alive at one version. Jobs that have ended are in the archive."""

    version: int
    now_ms: int
    """When the last event happened."""
    jobs: Map[JobId, Job]
    """Jobs that have not ended, and all tasks of arrays that have not ended."""
    running: Map[JobId, Job]
    """The jobs that have GPUs."""
    arrays: Map[JobId, ArrayRecord]
    nodes: Mapping[NodeName, Node]
    """In the order in which they are configured."""
    node_notes: Mapping[NodeName, str]
    """Why each node is in its state, as far as a reason was given."""
    set_aside: Mapping[NodeName, str]
    """Nodes that were taken out of service, and who did it: an operator or health."""
    node_health: Mapping[NodeName, HealthRecord]
    """What is remembered about the health of nodes to which something happened."""
    spares: tuple[NodeName, ...]
    """Nodes that are kept free for jobs that lose a node."""
    reservations: tuple[Reservation, ...]
    """Nodes that are or will be set aside, by the names of the reservations."""
    levels: tuple[LevelName, ...]
    """The levels of the topology, the widest first."""
    quarantine: Mapping[NodeName, tuple[FoundGang, ...]]
    rules: Rules
    promises: Mapping[JobId, Promise]
    """Promised starts."""
    usage: tuple[TeamUsageRecord, ...]
    """What fair share remembers of each team."""

    def record(self, job: JobId) -> JobRecord | None:
        """A job, a task or an array that is alive."""
        return self.jobs.get(job) or self.arrays.get(job)
