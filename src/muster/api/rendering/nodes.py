"""Nodes as they are sent, with what is in use on each."""

from collections.abc import Callable
from dataclasses import dataclass, field

from muster.answers.nodes import GpuUse, Node, NodeUse, Reservation
from muster.api.problems.concealing import Concealing
from muster.api.rendering.times import moment_of
from muster.core.lifecycle import occupied
from muster.formats.text.units import plain_number
from muster.model import node as model
from muster.model.ids import JobId, NodeName, TeamPath
from muster.model.job import Job, JobState, Worker
from muster.model.machines import reservation as model_reservation
from muster.model.machines.quarantine import quarantined_gpus
from muster.model.resources import UNTRACKED
from muster.views.view import View


@dataclass(slots=True)
class Use:
    """What is in use on one node, and by which jobs."""

    gpu_milli: int = 0
    cpu_milli: int = 0
    memory_bytes: int = 0
    jobs: dict[JobId, TeamPath] = field(default_factory=dict)
    workers: list[tuple[Job, Worker]] = field(default_factory=list)
    """Those that have GPUs here."""


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
            if worker.gpus:
                use.workers.append((job, worker))
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
        gpu_uses=tuple(_gpu_use(job, worker, is_seen=sees(job.spec.team)) for job, worker in used.workers),
        engine=node.engine,
        spare=node.name in view.spares,
        labels=node.labels,
        reservations=tuple(each.name for each in view.reservations if node.name in each.nodes),
        because=conceal(view.node_notes.get(node.name, "")) or None,
    )


def _gpu_use(job: Job, worker: Worker, *, is_seen: bool) -> GpuUse:
    return GpuUse(
        job=job.id if is_seen else None,
        name=job.spec.name if is_seen else None,
        team=job.spec.team if is_seen else None,
        gpus=worker.gpus,
        share=None if worker.share_milli is None else plain_number(worker.share_milli),
    )


def reservation_body(
    view: View, reservation: model_reservation.Reservation, sees: Callable[[TeamPath], bool]
) -> Reservation:
    """A reservation for a caller, who sees only the jobs of those teams for which `sees` is true."""
    outsiders = [
        job
        for job in view.running.values()
        if job.state in (JobState.STARTING, JobState.RUNNING)
        and not reservation.admits(job.spec.team, job.user)
        and (job.ends_by_ms is None or job.ends_by_ms > reservation.from_ms)
        and any(worker.node in reservation.nodes for worker in job.workers)
    ]
    return Reservation(
        name=reservation.name,
        nodes=tuple(reservation.nodes),
        start=moment_of(reservation.from_ms),
        end=moment_of(reservation.to_ms),
        team=reservation.team or None,
        user=reservation.user or None,
        because=reservation.because or None,
        open=reservation.from_ms <= view.now_ms,
        evicts=tuple(sorted(job.id for job in outsiders if sees(job.spec.team))),
    )


def ailments(view: View, conceal: Concealing) -> dict[str, str]:
    """Why nodes are not in order, as far as it is known: what they suffer from, or why an operator drained them."""
    ill = [node.name for node in view.nodes.values() if not node.state.takes_work or node.bad_gpus]
    return {name: conceal(note) for name in ill if (note := view.node_notes.get(name, ""))}


def _tracked(amount: int) -> int | None:
    return None if amount > UNTRACKED // 2 else amount
