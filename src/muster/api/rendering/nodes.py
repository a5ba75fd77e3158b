"""Nodes as they are sent, with what is in use on each."""

from collections.abc import Callable
from dataclasses import dataclass, field

from muster.answers.nodes import Node, NodeUse
from muster.api.problems.concealing import Concealing
from muster.core.lifecycle import occupied
from muster.formats.text.units import plain_number
from muster.model import node as model
from muster.model.ids import JobId, NodeName, TeamPath
from muster.model.quarantine import quarantined_gpus
from muster.model.resources import UNTRACKED
from muster.views.view import View

AILMENTS_TOLD = 3
"""As many nodes as a reason names."""


@dataclass(slots=True)
class Use:
    """What is in use on one node, and by which jobs."""

    gpu_milli: int = 0
    cpu_milli: int = 0
    memory_bytes: int = 0
    jobs: dict[JobId, TeamPath] = field(default_factory=dict)


def uses(view: View) -> dict[NodeName, Use]:
    """What is in use, by node."""
    found: dict[NodeName, Use] = {}
    for job in sorted(view.running.values(), key=lambda job: (job.number, job.array_index or 0)):
        requests = {role.name: role.request for role in job.spec.roles}
        for worker in occupied(job):
            use = found.setdefault(worker.node, Use())
            request = requests[worker.role]
            use.gpu_milli += worker.gpu_milli
            use.cpu_milli += request.cpu_milli
            use.memory_bytes += request.memory_bytes
            use.jobs[job.id] = job.spec.team
    return found


def node_body(
    view: View, node: model.Node, use: Use | None, sees: Callable[[TeamPath], bool], conceal: Concealing
) -> Node:
    """A node for a caller, who sees only the jobs of those teams for which `sees` is true."""
    used = use or Use()
    return Node(
        name=node.name,
        state=node.state,
        gpus=node.gpus,
        gpu_type=node.gpu_type,
        cpus=None if node.cpu_milli > UNTRACKED // 2 else plain_number(node.cpu_milli),
        memory_bytes=_tracked(node.memory_bytes),
        disk_bytes=_tracked(node.disk_bytes),
        pool=node.pool,
        domains=dict(zip(view.levels, node.domains, strict=False)),
        bad_gpus=node.bad_gpus,
        quarantined_gpus=tuple(quarantined_gpus(view.quarantine.get(node.name, ()), node)),
        used=NodeUse(
            gpus=plain_number(used.gpu_milli), cpus=plain_number(used.cpu_milli), memory_bytes=used.memory_bytes
        ),
        jobs=tuple(job for job, team in used.jobs.items() if sees(team)),
        engine=node.engine,
        because=conceal(view.node_notes.get(node.name, "")) or None,
    )


def ailments(view: View, conceal: Concealing) -> str:
    """What the first nodes that are not in order suffer from, as far as it is known."""
    ill = [node.name for node in view.nodes.values() if not node.state.takes_work or node.bad_gpus]
    notes = [(name, view.node_notes.get(name, "")) for name in ill[:AILMENTS_TOLD]]
    return "; ".join(f"{name}: {conceal(note)}" for name, note in notes if note)


def _tracked(amount: int) -> int | None:
    return None if amount > UNTRACKED // 2 else amount
