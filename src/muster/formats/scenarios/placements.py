"""The `workers` lists of a scenario -> placements, and whether the running jobs fit together."""

from collections import Counter
from collections.abc import Mapping

from muster.formats.parts.wire import closest
from muster.formats.scenarios.scenario_wire import WorkerWire
from muster.formats.text.document import Problems
from muster.formats.text.units import memory_value, plain_number
from muster.formats.text.yaml_text import Loc
from muster.model.ids import JobId, NodeName
from muster.model.job import Placement, Worker
from muster.model.node import Node
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import JobSpec, RoleSpec

Nodes = Mapping[str, Node]
Resources = tuple[int, int, int]
"""CPU thousandths, memory bytes, disk bytes."""


def placement(wires: list[WorkerWire], spec: JobSpec, nodes: Nodes, problems: Problems, at: Loc) -> Placement | None:
    """The workers by rank, or None after noting what is wrong with them."""
    before = problems.count
    workers = [_worker(wire, number, spec, nodes, problems, (*at, number)) for number, wire in enumerate(wires)]
    found = [worker for worker in workers if worker is not None]
    if problems.count == before:
        _check_ranks(found, problems, at)
        _check_gang(found, spec, problems, at)
    return tuple(sorted(found, key=lambda worker: worker.rank)) if problems.count == before else None


def _worker(wire: WorkerWire, number: int, spec: JobSpec, nodes: Nodes, problems: Problems, at: Loc) -> Worker | None:
    role = _role(wire, spec, problems, at)
    node = nodes.get(wire.node)
    if node is None:
        hint = closest(wire.node, nodes) if len(nodes) < 1000 else ""
        problems.add((*at, "node"), f"there is no node {wire.node!r}", hint)
    if role is None or node is None:
        return None
    _check_gpus(wire, role, node, problems, at)
    return Worker(
        rank=number if wire.rank is None else wire.rank,
        role=role.name,
        node=NodeName(wire.node),
        gpus=tuple(sorted(wire.gpus)),
        share_milli=role.request.gpu_milli if role.request.is_fractional else None,
    )


def _role(wire: WorkerWire, spec: JobSpec, problems: Problems, at: Loc) -> RoleSpec | None:
    names = [role.name for role in spec.roles]
    if wire.role is None and len(names) == 1:
        return spec.roles[0]
    if wire.role is None:
        problems.add((*at, "role"), "is required: the job has several roles", f"one of {', '.join(names)}")
        return None
    if wire.role not in names:
        problems.add((*at, "role"), f"the job has no role {wire.role!r}", closest(wire.role, names))
        return None
    return spec.role(wire.role)


def _check_gpus(wire: WorkerWire, role: RoleSpec, node: Node, problems: Problems, at: Loc) -> None:
    absent = [gpu for gpu in wire.gpus if not 0 <= gpu < node.gpus]
    wanted = role.request.gpu_milli
    if absent:
        has = f"it has {node.gpus}, counted from 0" if node.gpus else "it has none"
        problems.add((*at, "gpus"), f"there is no GPU {absent[0]} on {node.name!r}", has)
    elif len(set(wire.gpus)) < len(wire.gpus):
        problems.add((*at, "gpus"), "names a GPU twice")
    elif len(wire.gpus) != role.request.gpu_count:
        problem = f"has {len(wire.gpus)} GPUs, and the job asks for {plain_number(wanted)} for each worker"
        problems.add((*at, "gpus"), problem, "they must agree")
    if wire.share is not None and wire.share != min(wanted, GPU_MILLI):
        problem = f"is {plain_number(wire.share)}, and the job asks for {plain_number(wanted)} for each worker"
        problems.add((*at, "share"), problem, "they must agree")


def _check_ranks(workers: list[Worker], problems: Problems, at: Loc) -> None:
    counts = Counter(worker.rank for worker in workers)
    for number, worker in enumerate(workers):
        if counts[worker.rank] > 1:
            problems.add((*at, number, "rank"), f"rank {worker.rank} is given {counts[worker.rank]} times")
            return


def _check_gang(workers: list[Worker], spec: JobSpec, problems: Problems, at: Loc) -> None:
    counts = Counter(worker.role for worker in workers)
    for role in spec.roles:
        count, lowest, highest = counts[role.name], role.workers_min, role.workers_max
        if not lowest <= count <= highest:
            wanted = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
            where = f" in role {role.name!r}" if len(spec.roles) > 1 else ""
            problems.add(at, f"{count} workers{where}, and the job runs with {wanted}", "a gang is whole or not at all")


class Occupancy:
    """What the running jobs use together.

    Notes each worker that takes more of a GPU than is left. Notes once for each node that CPUs, memory or disk do not
    suffice.
    """

    def __init__(self, nodes: Nodes, problems: Problems) -> None:
        self._nodes = nodes
        self._problems = problems
        self._gpu_milli: dict[tuple[str, int], int] = {}
        self._gpu_job: dict[tuple[str, int], JobId] = {}
        self._used: dict[str, Resources] = {}
        self._full: set[str] = set()

    def add(self, job: JobId, spec: JobSpec, workers: Placement, at: Loc) -> None:
        """Add one running job."""
        requests = {role.name: role.request for role in spec.roles}
        for worker in workers:
            self._add_gpus(job, worker, at)
            self._add_rest(worker.node, requests[worker.role], at)

    def _add_gpus(self, job: JobId, worker: Worker, at: Loc) -> None:
        for gpu in worker.gpus:
            place = (worker.node, gpu)
            used = self._gpu_milli.get(place, 0) + (worker.share_milli or GPU_MILLI)
            other = self._gpu_job.setdefault(place, job)
            self._gpu_milli[place] = used
            if used > GPU_MILLI:
                taken = "twice by" if other == job else f"by {other!r} and"
                problem = f"GPU {gpu} of {worker.node!r} is taken {taken} {job!r}, {plain_number(used)} GPUs in all"
                self._problems.add(at, problem, "each GPU once, or shares that add up to 1")
                return

    def _add_rest(self, name: NodeName, request: Request, at: Loc) -> None:
        node = self._nodes[name]
        cpu_milli, memory_bytes, disk_bytes = self._used.get(name, (0, 0, 0))
        used = (cpu_milli + request.cpu_milli, memory_bytes + request.memory_bytes, disk_bytes + request.disk_bytes)
        self._used[name] = used
        most = (node.cpu_milli, node.memory_bytes, node.disk_bytes)
        for what, amount, capacity in zip(("CPUs", "memory", "disk"), used, most, strict=True):
            if amount > capacity and name not in self._full:
                self._full.add(name)
                written = plain_number if what == "CPUs" else memory_value
                problem = f"{name!r} has {written(capacity)} {what}, and the jobs that run there need {written(amount)}"
                self._problems.add(at, problem, "leave one out, or correct what it asks for")
