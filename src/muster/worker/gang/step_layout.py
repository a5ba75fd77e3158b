"""Where the tasks of a step go: which nodes of the allocation, how many on each, and which GPUs each task sees. Pure.

As in Slurm, a step without numbers is as large as its job, a step has its CPUs for itself and waits until they are
free, and `--overlap` does without that. GPUs are a step's own only if it asks for GPUs. Otherwise it sees all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from muster.worker.gang.allocation import AllocatedWorker, Allocation, StepUsage


class CannotPlace(Exception):
    """The allocation can never hold the step. The message says why, in the words of `srun`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """What `srun` asks for. None leaves it to the job."""

    tasks: int | None = None
    nodes: int | None = None
    tasks_per_node: int | None = None
    cpus_per_task: int = 1
    gpus_per_task: int | None = None
    gpus_per_node: int | None = None
    gpus: int | None = None
    """For the step as a whole."""
    node_list: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    overlap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTask:
    """One task and its place."""

    number: int
    local: int
    gpus: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class StepPart:
    """The tasks of a step beside one worker."""

    rank: int
    node: str
    node_number: int
    tasks: list[StepTask] = field(default_factory=list)
    cpus: int = 0
    """What it takes of the worker's CPUs."""
    taken_gpus: tuple[int, ...] = ()
    """The GPUs that no other step may have meanwhile."""


def place_step(allocation: Allocation, usage: StepUsage, request: StepRequest) -> list[StepPart] | None:
    """The parts of a step; None while other steps have what it needs. Raises `CannotPlace`."""
    nodes = _candidates(allocation, request)
    tasks, count = _size(allocation, request, nodes)
    busy = _busy(allocation, usage, request)
    free = nodes if request.node_list else sorted(nodes, key=lambda node: _is_busy(allocation.on(node), busy))
    chosen = sorted(free[:count], key=allocation.nodes.index)
    parts = _parts(allocation, chosen, tasks, busy)
    for part in parts:
        worker = next(each for each in allocation.workers if each.rank == part.rank)
        part.cpus = 0 if request.overlap else min(len(part.tasks) * request.cpus_per_task, allocation.cpus(worker))
        if part.cpus > usage.free_cpus(part.rank):
            return None
    return _with_gpus(allocation, usage, request, parts)


def _candidates(allocation: Allocation, request: StepRequest) -> list[str]:
    """The nodes that the step may use, those that it names first."""
    unknown = [node for node in request.node_list if node not in allocation.nodes]
    if unknown:
        raise CannotPlace(f"Requested node {unknown[0]} is not in the allocation {','.join(allocation.nodes)}")
    found = [node for node in request.node_list or allocation.nodes if node not in request.exclude]
    if request.node_list and (request.nodes or 0) > len(found):
        found += [node for node in allocation.nodes if node not in found and node not in request.exclude]
    if not found:
        raise CannotPlace("Requested node configuration is not available")
    return found


def _size(allocation: Allocation, request: StepRequest, nodes: Sequence[str]) -> tuple[int, int]:
    """How many tasks, on how many nodes."""
    count = request.nodes or (len(request.node_list) or len(nodes))
    if count > len(nodes):
        raise CannotPlace(f"Only allocated {len(nodes)} nodes asked for {count}")
    if request.tasks is not None:
        if request.tasks_per_node and not request.nodes:
            count = min(count, -(-request.tasks // request.tasks_per_node))
        return request.tasks, min(count, request.tasks)
    if request.tasks_per_node:
        return count * request.tasks_per_node, count
    if not (request.nodes or request.node_list or request.exclude):
        return allocation.tasks, min(count, allocation.tasks)
    slots = sorted((sum(worker.tasks for worker in allocation.on(node)) for node in nodes), reverse=True)
    return sum(slots[:count]), count


def _busy(allocation: Allocation, usage: StepUsage, request: StepRequest) -> frozenset[int]:
    """The ranks of workers where other steps leave no room for a task. They are used last."""
    if request.overlap:
        return frozenset()
    has_gpus = any((request.gpus_per_task, request.gpus_per_node, request.gpus))
    return frozenset(
        worker.rank
        for worker in allocation.workers
        if usage.free_cpus(worker.rank) < min(request.cpus_per_task, allocation.cpus(worker))
        or (has_gpus and not usage.free_gpus(worker.rank))
    )


def _is_busy(workers: Sequence[AllocatedWorker], busy: frozenset[int]) -> bool:
    return all(worker.rank in busy for worker in workers)


def _parts(allocation: Allocation, nodes: Sequence[str], tasks: int, busy: frozenset[int]) -> list[StepPart]:
    """Tasks over nodes as evenly as places allow, in blocks, and over the workers of each node."""
    counts = _spread([sum(worker.tasks for worker in allocation.on(node)) for node in nodes], tasks)
    parts: list[StepPart] = []
    number = 0
    for place, (node, count) in enumerate(zip(nodes, counts, strict=True)):
        workers = sorted(allocation.on(node), key=lambda worker: worker.rank in busy)
        local = 0
        for worker, own in zip(workers, _filled([each.tasks for each in workers], count), strict=True):
            part = StepPart(rank=worker.rank, node=node, node_number=place)
            for _ in range(own):
                part.tasks.append(StepTask(number=number, local=local, gpus=worker.gpus))
                number, local = number + 1, local + 1
            if own:
                parts.append(part)
    return parts


def _spread(places: Sequence[int], count: int) -> list[int]:
    """One after another to each, as long as it has places; beyond that, to all alike."""
    given = [0] * len(places)
    while count > 0:
        is_full = all(own >= most for own, most in zip(given, places, strict=True))
        for at, most in enumerate(places):
            if count > 0 and (is_full or given[at] < most):
                given[at] += 1
                count -= 1
    return given


def _filled(places: Sequence[int], count: int) -> list[int]:
    """The first ones full, then the next; what is left over goes to all alike."""
    given = []
    for most in places:
        given.append(min(most, count))
        count -= given[-1]
    extra = _spread([0] * len(places), count)
    return [own + more for own, more in zip(given, extra, strict=True)]


def _with_gpus(
    allocation: Allocation, usage: StepUsage, request: StepRequest, parts: list[StepPart]
) -> list[StepPart] | None:
    """Give GPUs to the tasks; None while others have them."""
    workers = {worker.rank: worker for worker in allocation.workers}
    is_asked = (request.gpus_per_task, request.gpus_per_node, request.gpus) != (None, None, None)
    per_task = request.gpus_per_task if is_asked else (allocation.gpus_per_task or None)
    if per_task is not None:
        return _own_gpus(workers, usage, parts, per_task, overlap=request.overlap or not is_asked)
    if not is_asked:
        return parts
    nodes = list(dict.fromkeys(part.node for part in parts))
    if request.gpus_per_node is not None:
        shares = dict.fromkeys(nodes, request.gpus_per_node)
    else:
        shares = dict(zip(nodes, _spread([0] * len(nodes), request.gpus or 0), strict=True))
    return _shared_gpus(workers, usage, parts, shares, overlap=request.overlap)


def _own_gpus(
    workers: dict[int, AllocatedWorker], usage: StepUsage, parts: list[StepPart], each: int, *, overlap: bool
) -> list[StepPart] | None:
    """So many GPUs for each task alone."""
    for part in parts:
        owned = workers[part.rank].gpus
        wanted = each * len(part.tasks)
        if wanted > len(owned):
            raise CannotPlace(f"{wanted} GPUs are asked for on {part.node}, and the job has {len(owned)} there")
        free = owned if overlap else usage.free_gpus(part.rank)
        if wanted > len(free):
            return None
        part.taken_gpus = () if overlap else free[:wanted]
        part.tasks = [
            StepTask(number=task.number, local=task.local, gpus=free[at * each : (at + 1) * each])
            for at, task in enumerate(part.tasks)
        ]
    return parts


def _shared_gpus(
    workers: dict[int, AllocatedWorker],
    usage: StepUsage,
    parts: list[StepPart],
    shares: dict[str, int],
    *,
    overlap: bool,
) -> list[StepPart] | None:
    """So many GPUs of each node, for all tasks there."""
    left = dict(shares)
    for node, wanted in shares.items():
        owned = sum(len(workers[part.rank].gpus) for part in parts if part.node == node)
        if wanted > owned:
            raise CannotPlace(f"{wanted} GPUs are asked for on {node}, and the job has {owned} there")
    for part in parts:
        free = workers[part.rank].gpus if overlap else usage.free_gpus(part.rank)
        own = free[: left[part.node]]
        left[part.node] -= len(own)
        part.taken_gpus = () if overlap else own
        part.tasks = [StepTask(number=task.number, local=task.local, gpus=own) for task in part.tasks]
    return parts if not any(left.values()) else None


def tasks_by_node(allocation: Allocation) -> list[int]:
    """How many tasks of the whole job go to each node."""
    places = [sum(worker.tasks for worker in allocation.on(node)) for node in allocation.nodes]
    return _spread(places, allocation.tasks)
