"""Whole gangs in allowed places: sizes, ranks, GPU types, pools, topology, tensor groups."""

from collections.abc import Iterable, Iterator

from muster.checker.facts import Facts, resized
from muster.model.ids import JobId
from muster.model.job import Placement, RunningJob, Worker
from muster.model.machines.constraint import parse_constraint, satisfies
from muster.model.node import Node
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec, RoleSpec


def seat_problems(facts: Facts) -> Iterator[str]:
    """Everything that is wrong with the placement of workers, one gang at a time."""
    plan = facts.plan
    for start in plan.starts:
        yield from _gang(facts, f"start of {start.job}", start.job, start.workers, start.workers, facts.now_ms)
    for resize in plan.resizes:
        _, gone, added = resized(facts.running[resize.job].workers, resize.workers)
        if gone and added:
            yield f"resize of {resize.job}: moves workers"
        is_anew = starts_anew(facts.running[resize.job], gone)
        new = resize.workers if is_anew else added
        yield from _gang(facts, f"resize of {resize.job}", resize.job, resize.workers, new, None)
    for promise in plan.promises:
        yield from _gang(
            facts, f"hold of {promise.job}", promise.job, promise.workers, promise.workers, promise.start_ms
        )


def starts_anew(job: RunningJob, gone: Placement) -> bool:
    """True when a job has to start again to change its size: by its launcher, or because its first worker goes."""
    return not job.spec.resizes_in_place or job.workers[0] in gone


def _gang(
    facts: Facts, what: str, job: JobId, workers: Placement, new: Placement, starts_ms: int | None
) -> Iterator[str]:
    """Rules for one gang. `starts_ms` is None when it runs already; its topology preference then no longer counts."""
    spec = facts.spec(job)
    problems = [
        *_sizes(spec, workers),
        *_types(facts, spec, workers),
        *_places(facts, spec, new),
        *_topology(facts, job, spec, workers, starts_ms),
        *_tensor_groups(facts, spec, workers),
    ]
    yield from (f"{what}: {problem}" for problem in problems)


def _sizes(spec: JobSpec, workers: Placement) -> Iterator[str]:
    if [worker.rank for worker in workers] != list(range(len(workers))):
        yield "ranks are not counted from 0 without gaps"
    for role in spec.roles:
        count = sum(worker.role == role.name for worker in workers)
        if not role.workers_min <= count <= role.workers_max:
            yield f"{count} workers of role {role.name}, which takes {role.workers_min} to {role.workers_max}"
    for worker in workers:
        request = spec.role(worker.role).request
        share = request.gpu_milli if request.is_fractional else None
        if len(worker.gpus) != request.gpu_count or len(dict.fromkeys(worker.gpus)) != len(worker.gpus):
            yield f"rank {worker.rank} has GPUs {worker.gpus}, and wants {request.gpu_count}"
        if worker.share_milli != share:
            yield f"rank {worker.rank} has a share of {worker.share_milli}, and wants {share}"


def _types(facts: Facts, spec: JobSpec, workers: Placement) -> Iterator[str]:
    for role in spec.roles:
        types = dict.fromkeys(facts.nodes[worker.node].gpu_type for worker in _gpu_workers(role, workers))
        if len(types) > 1:
            yield f"role {role.name} mixes GPU types {', '.join(types)}"
        accepted = role.request.gpu_types
        yield from (
            f"role {role.name} on {each}, which it does not accept"
            for each in types
            if accepted and each not in accepted
        )


def _gpu_workers(role: RoleSpec, workers: Placement) -> list[Worker]:
    return [worker for worker in workers if worker.role == role.name and role.request.gpu_milli]


def _places(facts: Facts, spec: JobSpec, new: Iterable[Worker]) -> Iterator[str]:
    for worker in new:
        node = facts.nodes[worker.node]
        if not node.state.takes_work:
            yield f"node {node.name} is {node.state}"
        for gpu in worker.gpus:
            if gpu in node.bad_gpus or not 0 <= gpu < node.gpus:
                yield f"GPU {gpu} of node {node.name} cannot be used"
        pool = facts.pools.get(node.pool)
        if pool is not None and not pool.admits(tier=spec.tier, team=spec.team, can_resume=spec.can_resume):
            yield f"pool {pool.name} does not admit it"
        if not _accepts(spec, node):
            yield f"node {node.name} is not one that it accepts"


def _accepts(spec: JobSpec, node: Node) -> bool:
    """True when the job takes a node with these labels, this name and this engine."""
    if node.name in spec.exclude or (spec.nodelist and node.name not in spec.nodelist):
        return False
    if (spec.image and not node.runs_images) or (spec.shares_gpus and node.whole_gpus):
        return False
    if node.engine != (spec.engine or node.engine):
        return False
    return not spec.constraint or satisfies(node.known_as, parse_constraint(spec.constraint))


def _topology(facts: Facts, job: JobId, spec: JobSpec, workers: Placement, starts_ms: int | None) -> Iterator[str]:
    topology = spec.topology
    if len(dict.fromkeys(facts.nodes[worker.node].engine for worker in workers)) > 1:
        yield "spread over more than one engine"
    if topology.within is not None and _spread(facts, workers, topology.within) > 1:
        yield f"spread over more than one {topology.within}"
    if topology.spread and len(dict.fromkeys(worker.node for worker in workers)) < len(workers):
        yield "two workers share a node, and each wants its own"
    waiting = facts.waiting.get(job)
    if topology.prefer is None or waiting is None or starts_ms is None:
        return
    if starts_ms < waiting.submitted_ms + topology.relax_after_ms and _spread(facts, workers, topology.prefer) > 1:
        yield f"spread over more than one {topology.prefer} before it has waited long enough for one"


def _spread(facts: Facts, workers: Iterable[Worker], level: str) -> int:
    return len(dict.fromkeys(facts.domain(worker.node, level) for worker in workers))


def _tensor_groups(facts: Facts, spec: JobSpec, workers: Placement) -> Iterator[str]:
    level = facts.scenario.cluster.nvlink_level or "node"
    for role in spec.roles:
        gpus = role.request.gpu_milli // GPU_MILLI
        size = max(1, spec.parallelism.tensor // gpus) if gpus else 1
        members = [worker for worker in workers if worker.role == role.name]
        for first in range(0, len(members), size):
            if _spread(facts, members[first : first + size], level) > 1:
                yield f"the tensor group from rank {members[first].rank} on crosses a {level}"
