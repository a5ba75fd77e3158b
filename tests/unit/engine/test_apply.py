"""A plan becomes events, whole, if the world is still as it was planned for."""

from muster.engine.apply import Applied, Dropped, apply
from muster.engine.folding.folding import fold
from muster.engine.folding.state import State
from muster.model.events import (
    Event,
    EvictionOrdered,
    HoldsSet,
    JobStarted,
    JobSubmitted,
    ResizeOrdered,
    WorkersStarted,
)
from muster.model.ids import JobId
from muster.model.plan import Eviction, Plan, Promise, Resize, Start, Why
from muster.model.records import evolve
from tests.builders import a_job
from tests.unit.engine.world import a_small_cluster, seats

RUNNING, QUEUED = JobId("job-1"), JobId("job-2")
DAY_MS = 24 * 3_600_000
NOW_MS = 60_000
HERE, THERE = seats(("n1", 0), ("n1", 1)), seats(("n2", 0))


def a_state() -> State:
    """An elastic job that saves runs on n1; another waits."""
    state = State(a_small_cluster())
    events: tuple[Event, ...] = (
        JobSubmitted(at_ms=0, job=RUNNING, spec=a_job(workers=(1, 4), checkpoint=True, grace_ms=90_000)),
        JobStarted(
            at_ms=0, job=RUNNING, attempt=1, generation=1, workers=HERE, max_duration_ms=DAY_MS, stop_grace_ms=30_000
        ),
        WorkersStarted(at_ms=0, job=RUNNING, attempt=1, generation=1, ranks=(0, 1)),
        JobSubmitted(at_ms=0, job=QUEUED, spec=a_job()),
    )
    for event in events:
        fold(state, event)
    return state


def a_plan(state: State) -> Plan:
    return Plan(version=state.snapshot.version, now_ms=NOW_MS)


def applied(plan: Plan, state: State) -> tuple[Event, ...]:
    outcome = apply(plan, (), state)
    assert isinstance(outcome, Applied)
    return outcome.events


def dropped(plan: Plan, state: State, *problems: str) -> Dropped:
    outcome = apply(plan, problems, state)
    assert isinstance(outcome, Dropped)
    return outcome


def test_a_start_carries_the_limits_that_hold_for_it() -> None:
    state = a_state()
    plan = evolve(a_plan(state), starts=(Start(job=QUEUED, workers=THERE),))
    assert applied(plan, state) == (
        JobStarted(
            at_ms=NOW_MS,
            job=QUEUED,
            attempt=1,
            generation=1,
            workers=THERE,
            max_duration_ms=7 * DAY_MS,
            stop_grace_ms=30_000,
        ),
    )


def test_an_eviction_carries_its_deadline_and_its_reason() -> None:
    state = a_state()
    eviction = Eviction(job=RUNNING, for_job=QUEUED, why=Why.RECLAIM, lost_gpu_ms=7)
    assert applied(evolve(a_plan(state), evictions=(eviction,)), state) == (
        EvictionOrdered(
            at_ms=NOW_MS,
            job=RUNNING,
            attempt=1,
            why=Why.RECLAIM,
            for_job=QUEUED,
            by_ms=NOW_MS + 90_000,
            lost_gpu_ms=7,
        ),
    )


def test_a_resize_is_ordered_once() -> None:
    state = a_state()
    resize = Resize(job=RUNNING, from_workers=2, to_workers=1, workers=HERE[:1], for_job=QUEUED)
    plan = evolve(a_plan(state), resizes=(resize,))
    (order,) = applied(plan, state)
    assert order == ResizeOrdered(at_ms=NOW_MS, job=RUNNING, attempt=1, workers=HERE[:1], for_job=QUEUED)
    fold(state, order)
    assert applied(evolve(plan, version=state.snapshot.version), state) == ()


def test_promises_are_written_only_when_they_change() -> None:
    state = a_state()
    promise = Promise(job=QUEUED, start_ms=9, workers=THERE, made_ms=1)
    plan = evolve(a_plan(state), promises=(promise,))
    (order,) = applied(plan, state)
    assert order == HoldsSet(at_ms=NOW_MS, holds=(promise,))
    fold(state, order)
    assert applied(evolve(plan, version=state.snapshot.version), state) == ()
    start = evolve(plan, version=state.snapshot.version, promises=(), starts=(Start(job=QUEUED, workers=THERE),))
    assert [type(event) for event in applied(start, state)] == [JobStarted]


def test_everything_happens_in_the_order_in_which_it_makes_sense() -> None:
    state = a_state()
    promise = Promise(job=JobId("job-3"), start_ms=9, workers=HERE, made_ms=1)
    plan = evolve(
        a_plan(state),
        starts=(Start(job=QUEUED, workers=THERE),),
        evictions=(Eviction(job=RUNNING, for_job=QUEUED, why=Why.TIER, lost_gpu_ms=0),),
        promises=(promise,),
    )
    assert [type(event) for event in applied(plan, state)] == [EvictionOrdered, JobStarted, HoldsSet]


def test_a_plan_for_another_version_is_dropped_and_worth_making_again() -> None:
    state = a_state()
    outcome = dropped(evolve(a_plan(state), version=0), state)
    assert outcome.is_stale
    assert outcome.reasons == (f"made from version 0, and the state is at {state.snapshot.version}",)


def test_a_plan_with_problems_is_dropped() -> None:
    state = a_state()
    outcome = dropped(a_plan(state), state, "n1: GPU 0 is used twice")
    assert (outcome.reasons, outcome.is_stale) == (("n1: GPU 0 is used twice",), False)


def test_a_plan_that_takes_jobs_for_what_they_are_not_is_dropped() -> None:
    state = a_state()
    plan = evolve(
        a_plan(state),
        starts=(Start(job=RUNNING, workers=THERE),),
        evictions=(Eviction(job=QUEUED, for_job=RUNNING, why=Why.TIER, lost_gpu_ms=0),),
        resizes=(Resize(job=JobId("nobody"), from_workers=1, to_workers=2, workers=HERE),),
    )
    assert dropped(plan, state).reasons == (
        "job-1 is to start and is running",
        "job-2 is to leave or to change its size and is queued",
        "nobody is to leave or to change its size and is None",
    )
