"""When a plan must be made again although nothing happens: at the times at which time alone may change the decision."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from muster.core.planning.desk import Desk
from muster.core.planning.upgrading import next_upgrades
from muster.model.limits import NEXT_CYCLE_MS


def wake_ms(desk: Desk) -> int | None:
    """When time alone may change the decision.

    A promised start, a soft wish that relaxes, a job that begins to starve, a rate limit that ends, and a job that has
    had its minimum run time: from then on it may be told to leave while somebody waits, or else grow or move to faster
    GPUs.
    """
    times = [*promised_starts(desk), *wishes_relax(desk)]
    someone_waits = bool(desk.blocked or desk.promises)
    if someone_waits:
        times += _next_to_be_asked(desk)
    else:
        times += [job.started_ms + desk.policy.min_runtime_ms for job in desk.snapshot.elastic.values()]
    if not someone_waits or desk.snapshot.may_upgrade:
        times += next_upgrades(desk)
    if desk.has_more_to_do:
        times.append(desk.now_ms + NEXT_CYCLE_MS)
    if desk.blocked:
        times += _next_to_starve(desk)
    return first_to_come(desk, times)


def first_to_come(desk: Desk, times_ms: Iterable[int]) -> int | None:
    """The first of these times that is not past."""
    return min((at_ms for at_ms in times_ms if at_ms > desk.now_ms), default=None)


def promised_starts(desk: Desk) -> list[int]:
    """When promised jobs are to start."""
    return [promise.hold.start_ms for promise in desk.promises.values()]


def wishes_relax(desk: Desk) -> list[int]:
    """When waiting jobs with a soft wish may spread further."""
    queue = desk.snapshot.queue
    jobs = [queue.jobs[job_id] for group in queue.relaxing.values() for job_id in group.ids]
    return [job.spec.topology.relaxes_ms(job.submitted_ms) for job in jobs]


def _next_to_be_asked(desk: Desk) -> list[int]:
    """When the next running job may be told to leave, move or grow; nothing where nobody who waits may ask for it."""
    snapshot, begun = desk.snapshot, desk.begun
    if not desk.policy.moves_jobs:
        return []
    if not desk.promises and not snapshot.elastic:
        asking = [group for group in snapshot.queue.classes() if not snapshot.only_waits(group)]
        if all(job_id in begun for group in asking for job_id in group.ids):
            return []
    return [*next_to_be_movable(desk), *_next_turn_over(desk), *_rate_limits_end(desk)]


def next_to_be_movable(desk: Desk) -> list[int]:
    """When the next running job will have had its minimum run time."""
    min_runtime_ms, begins = desk.policy.min_runtime_ms, desk.snapshot.begins
    following = bisect_left(begins, (desk.now_ms - min_runtime_ms + 1, ""))
    return [started_ms + min_runtime_ms for started_ms, _ in begins[following : following + 1]]


def _next_turn_over(desk: Desk) -> list[int]:
    """When the next running job will have had its turn."""
    turn_ms, turns = desk.snapshot.turn_ms, desk.snapshot.turns
    if turn_ms is None or not desk.policy.takes_turns:
        return []
    following = bisect_left(turns, (desk.now_ms - turn_ms + 1, ""))
    return [began_ms + turn_ms for began_ms, _ in turns[following : following + 1]]


def _rate_limits_end(desk: Desk) -> list[int]:
    """When a team that lost as many jobs as it may in an hour can lose the next one."""
    return desk.snapshot.recent_preemptions.limits_end_ms(desk.policy.preemptions_per_team_hour, desk.now_ms)


def _next_to_starve(desk: Desk) -> list[int]:
    """When the next waiting job will have waited as long as the starvation limit."""
    limit_ms, by_age = desk.policy.starvation_limit_ms, desk.snapshot.queue.by_age
    following = bisect_right(by_age, desk.now_ms - limit_ms, key=lambda entry: entry[0])
    return [submitted_ms + limit_ms for submitted_ms, _, _ in by_age[following : following + 1]]
