"""When a plan must be made again although nothing happens: at the times at which time alone may change the decision."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from muster.core.planning.displacing.turns import next_turn_ms, takes_turns
from muster.core.planning.draft import PlanDraft
from muster.core.planning.rearranging.upgrading import next_upgrades
from muster.core.snapshot import Snapshot
from muster.model.limits import NEXT_CYCLE_MS, SETTLING_MS


def wake_ms(draft: PlanDraft) -> int | None:
    """When time alone may change the decision.

    That is at a promised start, when a soft topology preference relaxes, when a reservation ends, when a job begins to
    starve, when a turn or a rate limit ends, and when a job has had its minimum run time. From then on that job may be
    told to leave while another waits, or else grow or move to faster GPUs. It is also soon after a cycle that left
    something undone.
    """
    times = [*promised_starts(draft), *wishes_relax(draft), *windows_end(draft.snapshot)]
    someone_waits = bool(draft.blocked or draft.promises)
    if not someone_waits:
        elastic = draft.snapshot.elastic.values()
        times += [max(job.started_ms, job.resized_ms or 0) + draft.policy.min_runtime_ms for job in elastic]
    if not someone_waits or draft.snapshot.may_upgrade:
        times += next_upgrades(draft)
    if draft.has_more_to_do:
        times.append(draft.now_ms + NEXT_CYCLE_MS)
    if draft.blocked:
        times += _next_to_starve(draft.snapshot, draft.now_ms)
        if draft.begun and takes_turns(draft.snapshot):
            # The first time at which a job that starts now could have to leave: then it is one of those that run.
            times.append(draft.now_ms + SETTLING_MS)
    if someone_waits and _may_ask(draft):
        return _next_to_be_asked_ms(draft.snapshot, draft.now_ms, first_to_come(draft, times))
    return first_to_come(draft, times)


def wake_at_rest_ms(snapshot: Snapshot, now_ms: int) -> int | None:
    """When a plan must be made where jobs take turns, and one made now would only say that all jobs wait."""
    times = [*_next_to_starve(snapshot, now_ms), *windows_end(snapshot)]
    return _next_to_be_asked_ms(snapshot, now_ms, min([at_ms for at_ms in times if at_ms > now_ms], default=None))


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


def windows_end(snapshot: Snapshot) -> list[int]:
    """When the nodes of reservations open to all jobs again."""
    return [window.reservation.to_ms for window in snapshot.setting.windows]


def _may_ask(draft: PlanDraft) -> bool:
    """True when running jobs may be told to leave, move or grow, and some waiting job may ask for it."""
    snapshot, begun = draft.snapshot, draft.begun
    if not draft.policy.moves_jobs:
        return False
    if draft.promises or snapshot.elastic:
        return True
    asking = [group for group in snapshot.queue.classes() if not snapshot.only_waits(group)]
    return any(job_id not in begun for group in asking for job_id in group.ids)


def _next_to_be_asked_ms(snapshot: Snapshot, now_ms: int, before_ms: int | None) -> int | None:
    """When the next running job may be told to leave, move or grow, if that is before a time; otherwise that time."""
    policy = snapshot.setting.policy
    limits_end_ms = snapshot.recent_preemptions.limits_end_ms(policy.preemptions_per_team_hour, now_ms)
    times = [at_ms for at_ms in (*next_to_be_movable(snapshot, now_ms), *limits_end_ms) if at_ms > now_ms]
    if before_ms is not None:
        times.append(before_ms)
    # The costliest last: only turns that end before all of these have to be found.
    return next_turn_ms(snapshot, now_ms, min(times, default=None))


def next_to_be_movable(snapshot: Snapshot, now_ms: int) -> list[int]:
    """When the next running job will have had its minimum run time."""
    min_runtime_ms, begins = snapshot.setting.policy.min_runtime_ms, snapshot.timetable.begins
    following = bisect_left(begins, (now_ms - min_runtime_ms + 1, ""))
    return [started_ms + min_runtime_ms for started_ms, _ in begins[following : following + 1]]


def _next_to_starve(snapshot: Snapshot, now_ms: int) -> list[int]:
    """When the next waiting job will have waited as long as the starvation limit."""
    limit_ms, by_age = snapshot.setting.policy.starvation_limit_ms, snapshot.queue.by_age
    following = bisect_right(by_age, now_ms - limit_ms, key=lambda entry: entry[0])
    return [submitted_ms + limit_ms for submitted_ms, _, _ in by_age[following : following + 1]]
