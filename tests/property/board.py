"""A plain account of what is free, by which random situations put their running jobs where they may be."""

from collections.abc import Sequence
from random import Random

from muster.model.ids import NodeName
from muster.model.job import Placement, Worker
from muster.model.machines.constraint import parse_constraint, satisfies
from muster.model.node import ClusterSpec, Node
from muster.model.policy import Pool
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import JobSpec


class Board:
    """Free GPUs, CPUs and memory of every node."""

    def __init__(self, cluster: ClusterSpec, pools: tuple[Pool, ...]) -> None:
        self._cluster = cluster
        self._pools = {pool.name: pool for pool in pools}
        self._gpus = {
            node.name: [0 if gpu in node.bad_gpus else GPU_MILLI for gpu in range(node.gpus)] for node in cluster.nodes
        }
        self._cpu = {node.name: node.cpu_milli for node in cluster.nodes}
        self._memory = {node.name: node.memory_bytes for node in cluster.nodes}
        self._tenants: dict[NodeName, list[JobSpec]] = {}

    def seat(self, spec: JobSpec, sizes: dict[str, int], chance: Random) -> Placement | None:
        """Put a gang of these sizes somewhere, or nowhere."""
        home = chance.choice([node for node in self._cluster.nodes if self._accepts(spec, node)] or self._cluster.nodes)
        before = ({name: free.copy() for name, free in self._gpus.items()}, self._cpu.copy(), self._memory.copy())
        workers: list[Worker] = []
        for role in spec.roles:
            gpus = role.request.gpu_milli // GPU_MILLI
            size = max(1, spec.parallelism.tensor // gpus) if gpus else 1
            nodes = [node for node in self._cluster.nodes if self._suits(spec, role.request, node, home)]
            for _ in range(0, sizes[role.name], size):
                group = self._group(role.name, role.request, nodes, size, len(workers), chance)
                if group is None:
                    self._gpus, self._cpu, self._memory = before
                    return None
                workers += group
                home_type = next(node.gpu_type for node in nodes if node.name == group[0].node)
                nodes = [node for node in nodes if node.gpu_type == home_type or not role.request.gpu_milli]
        for node_name in dict.fromkeys(worker.node for worker in workers):
            self._tenants.setdefault(node_name, []).append(spec)
        return tuple(workers)

    def _accepts(self, spec: JobSpec, node: Node) -> bool:
        """By its labels, its name and the jobs that are there."""
        tenants = self._tenants.get(node.name, [])
        if any(other.exclusive for other in tenants) or (spec.exclusive and tenants):
            return False
        if node.name in spec.exclude or (spec.nodelist and node.name not in spec.nodelist):
            return False
        return not spec.constraint or satisfies(node.known_as, parse_constraint(spec.constraint))

    def _suits(self, spec: JobSpec, request: Request, node: Node, home: Node) -> bool:
        if not self._accepts(spec, node):
            return False
        pool = self._pools.get(node.pool)
        if pool is not None and not pool.admits(tier=spec.tier, team=spec.team, can_resume=spec.can_resume):
            return False
        if request.gpu_milli and (not node.gpus or (request.gpu_types and node.gpu_type not in request.gpu_types)):
            return False
        if spec.topology.within is None:
            return True
        depth = (*self._cluster.levels, "node").index(spec.topology.within) + 1
        return (*node.domains, node.name)[:depth] == (*home.domains, home.name)[:depth]

    def _group(
        self, role: str, request: Request, nodes: Sequence[Node], size: int, rank: int, chance: Random
    ) -> list[Worker] | None:
        """One tensor group (or one worker) on one node."""
        if not nodes:
            return None
        first = chance.randrange(len(nodes))
        for node in (*nodes[first:], *nodes[:first]):
            taken = [self._take(node, request) for _ in range(size)]
            if all(gpus is not None for gpus in taken):
                share = request.gpu_milli if request.is_fractional else None
                return [
                    Worker(rank=rank + at, role=role, node=node.name, gpus=gpus or (), share_milli=share)
                    for at, gpus in enumerate(taken)
                ]
            for gpus in taken:
                if gpus is not None:
                    self._free(node, request, gpus)
        return None

    def _take(self, node: Node, request: Request) -> tuple[int, ...] | None:
        free = self._gpus[node.name]
        wanted = min(request.gpu_milli, GPU_MILLI)
        gpus = tuple(gpu for gpu, left in enumerate(free) if left >= wanted)[: request.gpu_count]
        if (
            len(gpus) < request.gpu_count
            or self._cpu[node.name] < request.cpu_milli
            or self._memory[node.name] < request.memory_bytes
        ):
            return None
        self._change(node, request, gpus, -1)
        return gpus

    def _free(self, node: Node, request: Request, gpus: tuple[int, ...]) -> None:
        self._change(node, request, gpus, 1)

    def _change(self, node: Node, request: Request, gpus: tuple[int, ...], sign: int) -> None:
        for gpu in gpus:
            self._gpus[node.name][gpu] += sign * min(request.gpu_milli, GPU_MILLI)
        self._cpu[node.name] += sign * request.cpu_milli
        self._memory[node.name] += sign * request.memory_bytes
