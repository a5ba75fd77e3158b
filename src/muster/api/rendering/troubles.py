"""What is wrong with nodes, GPUs and jobs, as it is sent."""

from collections.abc import Callable, Iterator
from datetime import datetime

from muster.answers.troubles import Trouble, TroubleKind
from muster.api.problems.concealing import Concealing
from muster.api.rendering.times import moment_of
from muster.formats.text.units import plain_number
from muster.model.ids import TeamPath
from muster.model.job import Job
from muster.model.machines.quarantine import quarantined_gpus
from muster.model.node import Node, NodeState
from muster.views.view import View


def troubles(view: View, sees: Callable[[TeamPath], bool], conceal: Concealing) -> Iterator[Trouble]:
    """All of it, nodes first; of jobs only what is wrong with those of teams for which `sees` is true."""
    for node in view.nodes.values():
        yield from _of_node(view, node, conceal)
    for job in view.running.values():
        if (job.stragglers or job.hang is not None) and sees(job.spec.team):
            yield from _of_job(job)


def _of_node(view: View, node: Node, conceal: Concealing) -> Iterator[Trouble]:
    note = conceal(view.node_notes.get(node.name, ""))
    if node.state is not NodeState.READY:
        why = note or "no reason was given"
        yield _at(node, TroubleKind.NODE, f"node {node.state}", why, state=node.state)
    elif node.bad_gpus:
        yield _at(node, TroubleKind.GPUS, f"GPU {_listed(node.bad_gpus)} bad", note or "out of service")
    if taken := quarantined_gpus(view.quarantine.get(node.name, ()), node):
        why = f"GPU {_listed(sorted(taken))} is used by a gang that the server has not started"
        yield _at(node, TroubleKind.QUARANTINE, "quarantine", why)


def _of_job(job: Job) -> Iterator[Trouble]:
    for slow in job.stragglers:
        factor = plain_number(slow.slowdown_milli)
        why = f"rank {slow.rank} on {slow.node} takes {factor:.1f} times as long as the others"
        yield _with(job, TroubleKind.STRAGGLER, "straggler", why, moment_of(slow.since_ms))
    if job.hang is not None:
        why = f"no rank has made a step after step {job.hang.step}"
        yield _with(job, TroubleKind.HANG, "stands still", why, moment_of(job.hang.since_ms))


def _at(node: Node, kind: TroubleKind, what: str, why: str, *, state: NodeState | None = None) -> Trouble:
    return Trouble(kind=kind, what=what, why=why, node=node.name, state=state, job=None, name=None, since=None)


def _with(job: Job, kind: TroubleKind, what: str, why: str, since: datetime) -> Trouble:
    return Trouble(kind=kind, what=what, why=why, node=None, state=None, job=job.id, name=job.spec.name, since=since)


def _listed(gpus: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, gpus))
