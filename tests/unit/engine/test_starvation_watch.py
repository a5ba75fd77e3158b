"""A job that gave way is not kept waiting for ever: it is written down as starved, and then asks for room itself."""

from muster.core.order.entitlements import Entitlements
from muster.engine.starvation_watch import StarvationWatch
from muster.model.ids import JobId, TeamPath
from muster.model.job import Job, JobState
from muster.model.limits import STARVATION_LOOK_MS, STARVATION_MS
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.team import Team
from tests.builders import a_job

GPU_MS = 4 * HOUR_MS
"""What four hours on one GPU are."""


def a_record(name: str, *, state: JobState = JobState.QUEUED, submitted_ms: int = 0, attained_gpu_ms: int = 0) -> Job:
    return Job(
        id=JobId(name), spec=a_job(gpus=1), state=state, submitted_ms=submitted_ms, attained_gpu_ms=attained_gpu_ms
    )


def submit(starvation: StarvationWatch, job: Job, at_ms: int) -> None:
    for due in starvation.follow(None, job, at_ms):
        assert due == job.id
        starvation.note(job, at_ms)


def test_waiting_counts_from_when_the_job_was_due_and_running_does_not() -> None:
    starvation = StarvationWatch(1_000, Entitlements((), 1_000))
    job = a_record("j")
    submit(starvation, job, 0)
    running = evolve(job, state=JobState.RUNNING)
    back = evolve(job, state=JobState.QUEUED, attained_gpu_ms=GPU_MS, requeued=True)
    assert starvation.follow(running, back, 4 * HOUR_MS) == []
    spent_ms = STARVATION_MS + 4 * HOUR_MS
    assert starvation.timers.next_ms == spent_ms
    assert starvation.starves_ms(back, 5 * HOUR_MS) == spent_ms
    assert starvation.starves_ms(running, 5 * HOUR_MS) is None
    assert not starvation.has_starved(back, spent_ms - 1)
    assert starvation.has_starved(back, spent_ms)
    assert not starvation.has_starved(evolve(back, starved=True), spent_ms)
    assert not starvation.has_starved(running, spent_ms)


def test_a_job_is_not_due_while_those_before_it_fill_the_cluster() -> None:
    starvation = StarvationWatch(1_000, Entitlements((), 1_000))
    first, second = a_record("a"), a_record("b", submitted_ms=5, attained_gpu_ms=GPU_MS)
    submit(starvation, first, 0)
    assert starvation.follow(None, second, 5) == []
    assert not starvation.has_starved(second, 10 * STARVATION_MS)
    ended = evolve(first, state=JobState.SUCCEEDED, ended_ms=HOUR_MS)
    assert starvation.follow(first, ended, HOUR_MS) == ["b"]
    starvation.note(second, HOUR_MS)
    assert starvation.timers.next_ms == HOUR_MS + STARVATION_MS


def test_a_job_that_never_ran_is_not_watched() -> None:
    starvation = StarvationWatch(1_000, Entitlements((), 1_000))
    job = a_record("j")
    submit(starvation, job, 0)
    assert starvation.timers.next_ms is None
    back = evolve(job, attained_gpu_ms=GPU_MS, requeued=True)
    starvation.follow(evolve(job, state=JobState.RUNNING), back, 4 * HOUR_MS)
    assert starvation.timers.next_ms is not None


def declared(*weights: tuple[str, int]) -> StarvationWatch:
    teams = tuple(Team(path=TeamPath(path), weight=weight) for path, weight in weights)
    return StarvationWatch(2_000, Entitlements(teams, 2_000))


def test_where_teams_were_declared_waiting_counts_from_when_the_share_would_have_been_enough() -> None:
    starvation = declared(("t", 1000))
    job = evolve(a_record("j"), spec=a_job(gpus=2, team="t"))
    submit(starvation, job, 0)
    other = evolve(a_record("other"), spec=a_job(gpus=2, team="t"))
    submit(starvation, other, 0)
    back = evolve(job, state=JobState.QUEUED, attained_gpu_ms=2 * GPU_MS, requeued=True)
    starvation.follow(evolve(job, state=JobState.RUNNING), back, 4 * HOUR_MS)
    spent_ms = STARVATION_MS + 8 * HOUR_MS  # on one of two GPUs, four hours on two of them take eight
    assert starvation.timers.next_ms == spent_ms
    assert not starvation.has_starved(back, spent_ms - 1)
    assert starvation.has_starved(back, spent_ms)


def test_a_job_that_has_not_starved_because_shares_have_changed_is_looked_at_again() -> None:
    starvation = declared(("t", 1000))
    job = evolve(a_record("j"), spec=a_job(gpus=2, team="t"))
    submit(starvation, job, 0)
    back = evolve(job, state=JobState.QUEUED, attained_gpu_ms=2 * GPU_MS, requeued=True)
    starvation.follow(evolve(job, state=JobState.RUNNING), back, 4 * HOUR_MS)
    first_look_ms = STARVATION_MS + 4 * HOUR_MS  # alone, it was due both GPUs
    assert starvation.timers.next_ms == first_look_ms
    for name in ("b", "c", "d"):
        starvation.follow(None, evolve(a_record(name, submitted_ms=5 * HOUR_MS), spec=a_job(team="t")), 5 * HOUR_MS)
    assert starvation.timers.pop_due(first_look_ms) == "j"
    assert not starvation.has_starved(back, first_look_ms)
    starvation.look_again(back, first_look_ms)
    assert starvation.timers.next_ms is not None
    assert starvation.timers.next_ms >= first_look_ms + STARVATION_LOOK_MS


def test_a_job_that_waits_again_and_again_is_looked_at_once() -> None:
    starvation = declared(("t", 1000))
    job = evolve(a_record("j"), spec=a_job(gpus=2, team="t"))
    submit(starvation, job, 0)
    for hours in range(1, 20):
        back = evolve(job, state=JobState.QUEUED, attained_gpu_ms=2 * hours * HOUR_MS, requeued=True)
        starvation.follow(evolve(job, state=JobState.RUNNING), back, hours * HOUR_MS)
    now_ms = STARVATION_MS + 19 * HOUR_MS - 1
    while starvation.timers.pop_due(now_ms) is not None:
        assert not starvation.has_starved(back, now_ms)
        starvation.look_again(back, now_ms)
    assert starvation.timers.pop_due(10 * STARVATION_MS) == "j"
    assert starvation.timers.next_ms is None


def all_spent(*, gpus: list[int], capacity: int) -> StarvationWatch:
    """Jobs that came at once, ran for an hour, and have waited too long since."""
    starvation = StarvationWatch(capacity * 1_000, Entitlements((), capacity * 1_000))
    for number, size in enumerate(gpus):
        job = evolve(a_record(f"j{number}"), spec=a_job(gpus=size))
        for due in starvation.follow(None, job, 0):
            starvation.note(evolve(a_record(due), spec=job.spec), 0)
    return starvation


def counts_as_starved(starvation: StarvationWatch, number: int, gpus: int) -> bool:
    """True when the job has starved; then it is recorded."""
    job = evolve(a_record(f"j{number}"), spec=a_job(gpus=gpus), state=JobState.QUEUED, attained_gpu_ms=gpus * HOUR_MS)
    starves = starvation.has_starved(job, 2 * STARVATION_MS)
    if starves:
        starvation.follow(job, evolve(job, starved=True), 2 * STARVATION_MS)
    return starves


def test_jobs_that_have_starved_hold_a_bounded_part_of_the_gpus() -> None:
    starvation = all_spent(gpus=[1, 1, 1, 1], capacity=6)
    assert [counts_as_starved(starvation, number, 1) for number in range(4)] == [True, True, False, False]
    ended = evolve(a_record("j0"), spec=a_job(gpus=1), starved=True, state=JobState.SUCCEEDED)
    starvation.follow(ended, ended, 2 * STARVATION_MS)
    assert counts_as_starved(starvation, 2, 1)


def test_the_more_is_wanted_than_there_is_the_smaller_is_the_part_of_those_that_have_starved() -> None:
    for others, starve in ((0, [True, True]), (6, [True, False])):
        starvation = all_spent(gpus=[1, 1] + [1] * others, capacity=6)
        assert [counts_as_starved(starvation, number, 1) for number in range(2)] == starve
    overload = all_spent(gpus=[1] * 2 + [6] * 6, capacity=6)
    assert not counts_as_starved(overload, 0, 1)


def test_one_gang_of_any_size_may_starve_unless_far_more_is_wanted_than_there_is() -> None:
    for others, starves in ((2, True), (3, False)):
        starvation = all_spent(gpus=[6, *[6] * others], capacity=6)
        assert counts_as_starved(starvation, 0, 6) is starves
