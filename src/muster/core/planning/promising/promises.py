"""Promises: finding the earliest start that can be promised, and checking what was promised before.

A promise is not moved later because of a waiting job of the same or a lower tier, unless a team takes back its
guarantee (last_resort.py). It rests on the time limits of running jobs and on nothing that is merely expected.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.gang import Choice, Gang
from muster.core.cluster.horizons import FOREVER_MS
from muster.core.cluster.node_use import Footprint, NodeUse
from muster.core.cluster.tenancy import kinds_in
from muster.core.order.quota import account_of
from muster.core.order.quota_forecast import fits_into
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import Seating, fits, place
from muster.model.ids import JobId, TeamPath
from muster.model.job import WaitingJob
from muster.model.limits import FAR_PROMISE_MS
from muster.model.node import Node
from muster.model.plan import Promise
from muster.model.resources import GPU_MILLI


class Opening(NamedTuple):
    """The earliest time and place at which a gang fits for certain."""

    start_ms: int
    choice: Choice
    seating: Seating


_Steps = list[tuple[bool, Footprint]]
"""What opens or closes at one instant: true for what opens. Nothing but time opens where there is no footprint."""


def earliest(
    draft: PlanDraft, job: WaitingJob, gang: Gang, limit_ms: int, before_ms: int | None = None
) -> Opening | None:
    """The earliest opening over all choices of the gang; None when there is none, or none before a given time."""
    best: Opening | None = None
    bound_ms = FOREVER_MS if before_ms is None else before_ms
    for choice in gang.choices:
        opening = _sweep(draft, job, gang, choice, limit_ms, bound_ms)
        if opening is not None:
            best, bound_ms = opening, opening.start_ms
    return best


def _sweep(
    draft: PlanDraft, job: WaitingJob, gang: Gang, choice: Choice, limit_ms: int, before_ms: int
) -> Opening | None:
    """Let time pass on a fork of the capacity until the gang fits, or until `before_ms`.

    The gang runs for up to `limit_ms` once it starts, so GPUs promised to others are closed to it from `limit_ms`
    before each promised start until that promise's end.
    """
    capacity = draft.free.fork(shelved=False)
    for promise in draft.promises.values():
        if promise.terms.start_ms - limit_ms < draft.now_ms:
            capacity.take(promise.footprint)
    for window in draft.setting.windows:
        if window.reservation.from_ms - limit_ms < draft.now_ms < window.reservation.from_ms:
            capacity.take(window.footprint)
    suits = capacity.suits(choice.asks)
    relaxes_ms, account = job.spec.topology.relaxes_ms(job.submitted_ms), account_of(job)
    for at_ms, steps in _instants(draft, limit_ms, relaxes_ms, before_ms):
        if not _let_pass(capacity, steps, suits):
            continue
        widest = gang.level_at(at_ms, relaxes_ms)
        if fits(capacity, gang, choice, widest) and quota_allows(draft, account, choice, at_ms, at_ms + limit_ms):
            capacity.shelve_as(draft.free)
            seating = place(capacity, gang, choice, widest)
            if seating is not None:
                return Opening(at_ms, choice, seating)
    return None


def _let_pass(capacity: Capacity, steps: _Steps, suits: list[bool]) -> bool:
    """Apply all steps of one instant; true when the gang may fit now although it did not before."""
    grew = False
    for opens, footprint in steps:
        if not footprint:
            grew = True
        elif any(suits[use.node] for use in footprint):
            (capacity.give if opens else capacity.take)(footprint)
            grew = grew or opens
    return grew


def _instants(draft: PlanDraft, limit_ms: int, relaxes_ms: int, before_ms: int) -> Iterator[tuple[int, _Steps]]:
    """Every instant before a time at which GPUs open or close for a job of this length, in order."""
    changes = _changes(draft, limit_ms, relaxes_ms, before_ms)
    times, at = sorted(changes), 0
    for end_ms, ending in groupby(draft.ends, key=lambda end: end[0]):
        if end_ms >= before_ms:
            break
        while at < len(times) and times[at] < end_ms:
            yield times[at], changes[times[at]]
            at += 1
        steps = [(True, draft.footprint(job_id)) for _, job_id in ending]
        if at < len(times) and times[at] == end_ms:
            steps += changes[end_ms]
            at += 1
        yield end_ms, steps
    for at_ms in times[at:]:
        yield at_ms, changes[at_ms]


def _changes(draft: PlanDraft, limit_ms: int, relaxes_ms: int, before_ms: int) -> dict[int, _Steps]:
    """What opens or closes GPUs besides the ends of running jobs. Most promises are too far away to matter."""
    found: dict[int, _Steps] = {}
    if draft.now_ms < relaxes_ms < before_ms:
        found[relaxes_ms] = [(True, ())]
    taken = [(promise.terms.start_ms, promise.end_ms, promise.footprint) for promise in draft.promises.values()]
    taken += [
        (window.reservation.from_ms, window.reservation.to_ms, window.footprint)
        for window in draft.setting.windows
        if window.reservation.to_ms > draft.now_ms
    ]
    for start_ms, end_ms, footprint in taken:
        closes_ms = start_ms - limit_ms
        if draft.now_ms <= closes_ms < before_ms - 1:
            found.setdefault(closes_ms + 1, []).append((False, footprint))
        if end_ms < before_ms:
            found.setdefault(end_ms, []).append((True, footprint))
    return found


def quota_allows(draft: PlanDraft, account: TeamPath, choice: Choice, start_ms: int, end_ms: int) -> bool:
    """True when the limits allow this start, and it takes no quota from a promise that starts during its run."""
    chain = draft.ledger.chain(account)
    return (
        fits_into(draft.quota_forecast.room(account, start_ms), chain, choice.demand)
        and draft.promised_quota.broken_by(chain, choice.demand, start_ms, end_ms) is None
    )


def far_bound_ms(draft: PlanDraft, tier: int, submitted_by_ms: int) -> int | None:
    """By when a promise must begin to be worth what it keeps idle, where jobs take no turns; None for any time.

    Where limits are weeks away, nothing can run in front of a promise, and the GPUs that come free for it one by one
    stay idle. So no job of a tier is promised a start so far away while a job that was submitted by the given time has
    such a promise. If every starving job had one, more jobs would starve because of it.
    """
    if draft.policy.takes_turns:
        return None
    far_ms, waiting = draft.now_ms + FAR_PROMISE_MS, draft.snapshot.queue.jobs
    far = [job for job, promise in draft.promises.items() if promise.tier == tier and promise.terms.start_ms >= far_ms]
    has_one = any(waiting[job].submitted_ms <= submitted_by_ms for job in far if job in waiting)
    return far_ms if has_one else None


def still_holds(
    draft: PlanDraft, terms: Promise, footprint: Footprint, choice: Choice, account: TeamPath, end_ms: int
) -> bool:
    """True when a promise of an earlier cycle can be renewed: its GPUs and its quota will be free at its time."""
    start_ms = max(terms.start_ms, draft.now_ms)
    return is_free_for(draft, terms.job, footprint, start_ms, end_ms) and quota_allows(
        draft, account, choice, start_ms, end_ms
    )


def is_free_for(draft: PlanDraft, job_id: JobId, footprint: Footprint, start_ms: int, end_ms: int) -> bool:
    """True when a job can have these exact GPUs for this time without getting in the way of another promise."""
    return all(_room_on_node(draft, job_id, use, start_ms, end_ms) for use in footprint)


def _room_on_node(draft: PlanDraft, job_id: JobId, wanted: NodeUse, start_ms: int, end_ms: int) -> bool:
    """True when one node will have what is wanted of it, at the start and whenever another promise begins later."""
    node = draft.setting.tree.nodes[wanted.node]
    if not node.state.takes_work or any(device in node.bad_gpus for device, _ in wanted.devices):
        return False
    refuses = wanted.tenancy.refuses
    if any(each.shuts_out(refuses, wanted.node, start_ms, end_ms) for each in draft.setting.windows):
        return False
    others = [
        (max(promise.terms.start_ms, start_ms), promise.end_ms, use)
        for other, (promise, use) in draft.promised_on(wanted.node)
        if other != job_id and promise.terms.start_ms < end_ms and start_ms < promise.end_ms
    ]
    if not others:
        return _adds_up(node, wanted, draft.uses_on(wanted.node, start_ms))
    return all(
        _adds_up(
            node,
            wanted,
            [
                *draft.uses_on(wanted.node, at_ms),
                *(use for from_ms, until_ms, use in others if from_ms <= at_ms < until_ms),
            ],
        )
        for at_ms in dict.fromkeys((start_ms, *(from_ms for from_ms, _, _ in others)))
    )


def _adds_up(node: Node, wanted: NodeUse, others: Iterable[NodeUse]) -> bool:
    """True when a node has enough for these uses together, on the devices that are wanted."""
    used = dict(wanted.devices)
    cpu, memory, disk = wanted.cpu_milli, wanted.memory_bytes, wanted.disk_bytes
    tenants = 0
    for use in others:
        for device, milli in use.devices:
            if device in used:
                used[device] += milli
        cpu, memory, disk = cpu + use.cpu_milli, memory + use.memory_bytes, disk + use.disk_bytes
        tenants += use.tenancy.adds
    return (
        all(milli <= GPU_MILLI for milli in used.values())
        and cpu <= node.cpu_milli
        and memory <= node.memory_bytes
        and disk <= node.disk_bytes
        and not kinds_in(tenants) & wanted.tenancy.refuses
    )
