"""GPUs that no waiting gang can use go to elastic jobs: to those that run, and to those that this plan starts."""

from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.footprint import footprint_of
from muster.core.cluster.free_states import Ask
from muster.core.cluster.gang import Choice, Gang, RolePart, demand_of, running_gang
from muster.core.order.quota import account_of
from muster.core.planning.displacing.shrinking import may_start_again, renumbered
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import Seating, one_node, place, seat
from muster.model.ids import JobId, TeamPath
from muster.model.job import Placement, RunningJob, WaitingJob, Worker
from muster.model.limits import GROWTHS_PER_CYCLE
from muster.model.plan import ReasonCode, Resize
from muster.model.spec import JobSpec, RoleSpec


class NoGrowth(StrEnum):
    """Why a running elastic job does not grow, whatever room there is."""

    CHANGING = "changing"
    """It is about to leave or to change its size, or one of its workers has ended."""
    NO_CHECKPOINT = "no_checkpoint"
    """It would have to start again, and has saved nothing to go on from."""
    ENDING = "ending"
    """It ends too soon to gain by it."""
    RECENT = "recent"
    """It has just been started, or has just changed its size."""
    NOT_HERE = "not_here"
    """It would have to start again, and may not be started where it is."""


class _Growing(NamedTuple):
    """An elastic job that could use more workers."""

    id: JobId
    spec: JobSpec
    account: TeamPath
    role: RoleSpec
    part: RolePart
    """What is added in one step: one worker, or one tensor-parallel group."""
    ask: Ask
    choice: Choice
    widest: int
    end_ms: int
    nodes: tuple[int, ...]


def grow(draft: PlanDraft) -> None:
    """Give GPUs that no waiting gang can use to the elastic jobs that gain most: those with the fewest GPUs so far."""
    growing = [*_begun(draft), *_running(draft)][:GROWTHS_PER_CYCLE]
    sizes = {entry.id: _size(draft, entry) for entry in growing}
    added: dict[JobId, list[Worker]] = {}
    heap = [(sizes[entry.id] * max(entry.ask.gpu_milli, 1), entry.id, at) for at, entry in enumerate(growing)]
    heapify(heap)
    while heap:
        _, job_id, at = heappop(heap)
        entry = growing[at]
        room = entry.role.workers_max - sizes[job_id]
        if room < entry.part.workers:
            continue
        seating = _one_step(draft, entry)
        if seating is None:
            continue
        sizes[job_id] += entry.part.workers
        added.setdefault(job_id, []).extend(seating.workers)
        heappush(heap, (sizes[job_id] * max(entry.ask.gpu_milli, 1), job_id, at))
    for entry in growing:
        if entry.id in added:
            _settle(draft, entry, added[entry.id])


def _begun(draft: PlanDraft) -> list[_Growing]:
    """Jobs that this plan starts at their minimum."""
    found: list[_Growing] = []
    for begun in draft.begun.values():
        role = begun.job.spec.elastic_role
        if role is not None:
            nodes = tuple(use.node for use in begun.seating.footprint)
            widest = draft.widest(begun.gang, begun.job)
            gang = begun.gang._replace(widest=widest)
            found.append(_entry(begun.job, role, gang, begun.choice, begun.end_ms, nodes))
    return found


def _running(draft: PlanDraft) -> list[_Growing]:
    """Running jobs that may grow, and for which it pays."""
    found: list[_Growing] = []
    for _, job in sorted(draft.snapshot.elastic.items()):
        role = job.spec.elastic_role
        if role is None or job.id in draft.resizes or job.id in draft.evictions:
            continue
        end_ms = draft.end_ms(job)
        if no_growth(draft, job, end_ms) is None and (entry := _of_running(draft, job, role)) is not None:
            found.append(entry)
    return found


def _of_running(draft: PlanDraft, job: RunningJob, role: RoleSpec) -> _Growing | None:
    gang = running_gang(job, draft.setting)
    gang = gang._replace(widest=draft.widest(gang, job))
    choices = gang.choices_on(job.workers, draft.setting.tree)
    if not choices:
        return None
    # The last choice has the widest pools: a job grows on the GPU type it has, in every pool that admits it.
    nodes = tuple(use.node for use in draft.snapshot.footprints[job.id])
    return _entry(job, role, gang, choices[-1], draft.end_ms(job), nodes)


def missing_for_growth(draft: PlanDraft, job: RunningJob, role: RoleSpec) -> tuple[ReasonCode, str] | None:
    """What keeps a job that may grow from one more worker, with the team or GPU type; None if promises alone do."""
    entry = _of_running(draft, job, role)
    if entry is None:
        return ReasonCode.GPU_TYPE, ""
    step = entry.choice._replace(asks=(entry.ask,), demand=demand_of((entry.part,), (entry.ask,)))
    refused = draft.quota_refusal(entry.account, step, entry.end_ms)
    if refused is not None:
        return refused
    return (ReasonCode.CAPACITY, "") if _one_step(draft, entry) is None else None


def no_growth(draft: PlanDraft, job: RunningJob, end_ms: int) -> NoGrowth | None:
    """Why a running elastic job does not grow, whatever room there is; None when it may.

    Workers that it lost with a node are replaced at once.
    """
    policy, now_ms = draft.policy, draft.now_ms
    changed_ms = job.started_ms if job.resized_ms is None else max(job.started_ms, job.resized_ms)
    if job.leaving_by_ms is not None or not job.can_resize:
        return NoGrowth.CHANGING
    if not job.can_grow:
        return NoGrowth.NO_CHECKPOINT
    if end_ms - now_ms < 2 * policy.restart_cost_ms:
        return NoGrowth.ENDING
    if now_ms - changed_ms < policy.min_runtime_ms and not job.lost_workers:
        return NoGrowth.RECENT
    return None if job.spec.resizes_in_place or may_start_again(draft, job) else NoGrowth.NOT_HERE


def _entry(
    job: WaitingJob | RunningJob, role: RoleSpec, gang: Gang, choice: Choice, end_ms: int, nodes: tuple[int, ...]
) -> _Growing:
    index = next(index for index, part in enumerate(gang.parts) if part.role == role.name)
    part = gang.parts[index]
    return _Growing(
        id=job.id,
        spec=job.spec,
        account=account_of(job),
        role=role,
        part=part._replace(workers=part.group),
        ask=choice.asks[index],
        choice=choice,
        widest=gang.widest,
        end_ms=end_ms,
        nodes=nodes,
    )


def _size(draft: PlanDraft, entry: _Growing) -> int:
    begun = draft.begun.get(entry.id)
    workers = begun.seating.workers if begun is not None else draft.snapshot.running[entry.id].workers
    return sum(1 for worker in workers if worker.role == entry.role.name)


def _one_step(draft: PlanDraft, entry: _Growing) -> Seating | None:
    """Seat one more worker or group as close to the others as possible, and take it."""
    demand = demand_of((entry.part,), (entry.ask,))
    step = entry.choice._replace(asks=(entry.ask,), demand=demand)
    if draft.quota_refusal(entry.account, step, entry.end_ms) is not None:
        return None
    capacity = draft.horizons.until(entry.end_ms)
    if entry.part.group > 1 and capacity.tree.nvlink_level < capacity.tree.node_level:
        return _one_group(draft, entry, step, capacity)
    for level in range(capacity.tree.node_level, entry.widest - 1, -1):
        start, end = capacity.tree.span(level, capacity.tree.domain_at(level, entry.nodes[0]))
        node = one_node(capacity, entry.ask, entry.part.workers, start, end)
        if node is not None:
            workers, uses = seat(capacity, entry.part, entry.ask, [(node, entry.part.workers)], first_rank=0)
            draft.horizons.take(tuple(uses))
            draft.charge(entry.account, demand, entry.end_ms)
            return Seating(tuple(workers), tuple(uses))
    return None


def _one_group(draft: PlanDraft, entry: _Growing, step: Choice, capacity: Capacity) -> Seating | None:
    """Seat one more tensor-parallel group, which may span nodes, if it finds room in the gang's own domain."""
    tree = capacity.tree
    gang = Gang(parts=(entry.part,), choices=(step,), widest=tree.nvlink_level, prefer=tree.nvlink_level)
    seating = place(capacity, gang, step, tree.nvlink_level)
    if seating is None or not tree.are_together(
        entry.widest, [entry.nodes[0], *(use.node for use in seating.footprint)]
    ):
        return None
    draft.horizons.take(seating.footprint)
    draft.charge(entry.account, step.demand, entry.end_ms)
    return seating


def _settle(draft: PlanDraft, entry: _Growing, added: list[Worker]) -> None:
    """Write the new size into the plan."""
    begun = draft.begun.get(entry.id)
    if begun is not None:
        workers = _along_the_tree(draft, entry.spec, (*begun.seating.workers, *added))
        footprint = footprint_of(entry.spec, workers, draft.setting.tree, entry.ask.tenancy)
        begun.seating = Seating(workers, footprint)
        return
    job = draft.snapshot.running[entry.id]
    workers = renumbered((*job.workers, *added))
    draft.resizes[entry.id] = Resize(
        job=entry.id, from_workers=len(job.workers), to_workers=len(workers), workers=workers
    )


def _along_the_tree(draft: PlanDraft, spec: JobSpec, workers: Placement) -> Placement:
    """Number ranks role by role along the topology tree. Nothing runs yet, so any numbering is free."""
    order = {role.name: index for index, role in enumerate(spec.roles)}
    index_of = draft.setting.tree.index_of
    return renumbered(
        tuple(sorted(workers, key=lambda worker: (order[worker.role], index_of[worker.node], worker.gpus)))
    )
