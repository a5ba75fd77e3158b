"""What a supervisor says about itself when it greets."""

from muster.model.events import GangsFound
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.machines.quarantine import FoundGang, SeenJob
from muster.worker.messages import BadMessage, spec_from, worker_from
from muster.worker.service import Message


def found_gangs(node: NodeName, hello: Message, at_ms: int) -> GangsFound:
    """What a node runs, and the newest it has seen of every job. Raises `BadMessage` when the greeting is malformed."""
    try:
        return _found_gangs(node, hello, at_ms)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadMessage(f"not a greeting: {error!r}") from error


def _found_gangs(node: NodeName, hello: Message, at_ms: int) -> GangsFound:
    heard = {job: max(ranks, default=-1) + 1 for job, _, _, _, ranks in hello["gangs"]}
    gangs = tuple(
        FoundGang(
            job=JobId(said["job"]),
            attempt=said["attempt"],
            generation=said["generation"],
            workers=tuple(_placed(node, worker) for worker in said["workers"]),
            spec=None if said.get("spec") is None else spec_from(said["spec"]),
            next_rank=heard.get(said["job"], 0),
        )
        for said in hello["alive"]
    )
    seen = tuple(
        SeenJob(job=JobId(job), attempt=attempt, generation=generation, next_rank=heard[job])
        for job, attempt, generation, _, _ in hello["gangs"]
    )
    return GangsFound(at_ms=at_ms, node=node, gangs=gangs, seen=seen)


def _placed(node: NodeName, said: Message) -> Worker:
    """Where a worker was placed. An older supervisor remembers its rank and nothing else."""
    return worker_from(said) if "node" in said else Worker(rank=said["rank"], role="", node=node)
