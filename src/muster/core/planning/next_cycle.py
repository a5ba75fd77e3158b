"""When a plan must be made again although nothing happens: at the times at which time alone may change the decision."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from muster.core.order.service import ServicePlace, aged_ms
from muster.core.planning.draft import PlanDraft
from muster.core.planning.turns import next_to_leave_ms, takes_turns
from muster.core.planning.upgrading import next_upgrades
from muster.model.limits import NEXT_CYCLE_MS


def wake_ms(draft: PlanDraft) -> int | None:
    """When time alone may change the decision.

    That is at a promised start, when a soft topology preference relaxes, when a job begins to starve, when a turn or a
    rate limit ends, and when a job has had its minimum run time. From then on that job may be told to leave while
    another waits, or else grow or move to faster GPUs. It is also soon after a cycle that left something undone.
    """
    times = [*promised_starts(draft), *wishes_relax(draft)]
    someone_waits = bool(draft.blocked or draft.promises)
    if someone_waits:
        times += _next_to_be_asked(draft)
    else:
        times += [job.started_ms + draft.policy.min_runtime_ms for job in draft.snapshot.elastic.values()]
    if not someone_waits or draft.snapshot.may_upgrade:
        times += next_upgrades(draft)
    if draft.has_more_to_do:
        times.append(draft.now_ms + NEXT_CYCLE_MS)
    if draft.blocked:
        times += _next_to_starve(draft)
    return first_to_come(draft, times)


def first_to_come(draft: PlanDraft, times_ms: Iterable[int]) -> int | None:
    """The first of these times that is in the future."""
    return min((at_ms for at_ms in times_ms if at_ms > draft.now_ms), default=None)


def promised_starts(draft: PlanDraft) -> list[int]:
    """When promised jobs are to start."""
    return [promise.terms.start_ms for promise in draft.promises.values()]


def wishes_relax(draft: PlanDraft) -> list[int]:
    """When waiting jobs with a soft topology preference may spread further."""
    queue = draft.snapshot.queue
    jobs = [queue.jobs[job_id] for group in queue.relaxing.values() for job_id in group.ids]
    return [job.spec.topology.relaxes_ms(job.submitted_ms) for job in jobs]


def _next_to_be_asked(draft: PlanDraft) -> list[int]:
    """When the next running job may be told to leave, move or grow; empty when no waiting job may ask for it."""
    snapshot, begun = draft.snapshot, draft.begun
    if not draft.policy.moves_jobs:
        return []
    if not draft.promises and not snapshot.elastic:
        asking = [group for group in snapshot.queue.classes() if not snapshot.only_waits(group)]
        if all(job_id in begun for group in asking for job_id in group.ids):
            return []
    return [*next_to_be_movable(draft), *_next_turns(draft), *_rate_limits_end(draft)]


def next_to_be_movable(draft: PlanDraft) -> list[int]:
    """When the next running job will have had its minimum run time."""
    min_runtime_ms, begins = draft.policy.min_runtime_ms, draft.snapshot.timetable.begins
    following = bisect_left(begins, (draft.now_ms - min_runtime_ms + 1, ""))
    return [started_ms + min_runtime_ms for started_ms, _ in begins[following : following + 1]]


def _next_turns(draft: PlanDraft) -> list[int]:
    """When the next running job will have to leave for the first waiting job of a band."""
    if not takes_turns(draft):
        return []
    first: dict[tuple[int, int], ServicePlace] = {}
    for group in draft.snapshot.queue.classes():
        place = ServicePlace(group.band, aged_ms(draft.snapshot.queue.jobs[group.head[-1]], draft.policy))
        known = first.get((group.tier, group.band))
        if known is None or place < known:
            first[(group.tier, group.band)] = place
    return [at_ms for (tier, _), place in first.items() for at_ms in next_to_leave_ms(draft, tier, place)]


def _rate_limits_end(draft: PlanDraft) -> list[int]:
    """When a team that lost as many jobs as it may in an hour can lose the next one."""
    return draft.snapshot.recent_preemptions.limits_end_ms(draft.policy.preemptions_per_team_hour, draft.now_ms)


def _next_to_starve(draft: PlanDraft) -> list[int]:
    """When the next waiting job will have waited as long as the starvation limit."""
    limit_ms, by_age = draft.policy.starvation_limit_ms, draft.snapshot.queue.by_age
    following = bisect_right(by_age, draft.now_ms - limit_ms, key=lambda entry: entry[0])
    return [submitted_ms + limit_ms for submitted_ms, _, _ in by_age[following : following + 1]]
