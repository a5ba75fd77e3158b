"""Folding events: jobs, arrays, nodes and the scheduling snapshot stay in step."""

import pytest

from muster.engine.folding.folding import fold
from muster.engine.folding.state import State
from muster.model.errors import InvalidInput
from muster.model.events import (
    CheckpointSaved,
    EvictionOrdered,
    HoldsSet,
    JobStarted,
    JobSubmitted,
    NodeChanged,
    NodeLost,
    ResizeOrdered,
    TurnCame,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName
from muster.model.job import JobState, Placement
from muster.model.node import NodeState
from muster.model.plan import Promise, Why
from muster.model.records import evolve
from muster.model.requests import JobCancelRequested, JobHeld, JobReleased
from muster.model.spec import ArraySpec, Dependency, JobSpec, Launch
from tests.builders import a_job, a_node, a_scenario, flat, waits
from tests.unit.engine.world import a_small_cluster, seats

JOB = JobId("job-1")
HOUR_MS = 3_600_000
ELASTIC = a_job(workers=(1, 4), checkpoint=True, launch=Launch.TORCHRUN)


def submitted(spec: JobSpec | None = None, *, unmet: tuple[JobId, ...] = ()) -> JobSubmitted:
    return JobSubmitted(at_ms=0, job=JOB, spec=spec or a_job(workers=2), unmet=unmet)


def started(workers: Placement | None = None, *, attempt: int = 1, generation: int = 1) -> JobStarted:
    return JobStarted(
        at_ms=1_000,
        job=JOB,
        attempt=attempt,
        generation=generation,
        workers=workers or seats(("n1", 0), ("n2", 0)),
        max_duration_ms=10 * HOUR_MS,
        stop_grace_ms=30_000,
    )


def up(*ranks: int) -> WorkersStarted:
    return WorkersStarted(at_ms=2_000, job=JOB, attempt=1, generation=1, ranks=ranks or (0, 1))


def exited(*ranks: int, generation: int = 1, code: int = 0) -> WorkersExited:
    return WorkersExited(
        at_ms=1_000 + HOUR_MS, job=JOB, attempt=1, generation=generation, ranks=ranks or (0, 1), exit_code=code
    )


def a_state(*events: object) -> State:
    state = State(a_small_cluster())
    for event in events:
        assert fold(state, event).is_change  # type: ignore[arg-type]
    return state


def test_an_engine_does_not_take_over_jobs_from_a_scenario() -> None:
    with pytest.raises(InvalidInput):
        State(a_scenario(flat(1), waiting=[waits("j1")]))


def test_a_submitted_job_waits_in_the_snapshot() -> None:
    state = a_state(submitted())
    assert state.state_of(JOB) is JobState.QUEUED
    assert [job.id for job in state.snapshot.scenario(0).waiting] == [JOB]
    assert (state.version, state.submissions) == (1, 1)


def test_the_same_submission_twice_is_one() -> None:
    state = a_state(submitted())
    assert not fold(state, submitted()).is_change
    assert state.version == 1


def test_blocked_and_held_jobs_are_shown_with_what_keeps_them() -> None:
    state = a_state(submitted(unmet=(JobId("prep"),)), JobHeld(at_ms=1, job=JOB))
    (waiting,) = state.snapshot.scenario(0).waiting
    assert (waiting.unmet, waiting.held) == (("prep",), True)
    fold(state, JobReleased(at_ms=2, job=JOB))
    (waiting,) = state.snapshot.scenario(0).waiting
    assert not waiting.held


def test_a_started_job_moves_from_waiting_to_running() -> None:
    state = a_state(submitted(), started())
    scenario = state.snapshot.scenario(1_000)
    assert scenario.waiting == ()
    (running,) = scenario.running
    assert (running.id, running.started_ms, running.workers) == (JOB, 1_000, seats(("n1", 0), ("n2", 0)))
    assert list(state.occupying) == [JOB]


def test_a_finished_job_leaves_the_snapshot_and_its_team_is_charged() -> None:
    state = a_state(submitted(), started(), up(), exited())
    scenario = state.snapshot.scenario(1_000 + HOUR_MS)
    assert (scenario.running, scenario.waiting) == ((), ())
    assert scenario.usage == (("default", 2 * HOUR_MS),)
    assert list(state.occupying) == []
    assert state.state_of(JOB) is JobState.SUCCEEDED


def test_an_evicted_job_is_leaving_and_then_waits_again() -> None:
    evicted = EvictionOrdered(
        at_ms=HOUR_MS, job=JOB, attempt=1, why=Why.TIER, for_job=JobId("job-2"), by_ms=HOUR_MS + 9_000
    )
    state = a_state(submitted(), started(), up(), evicted)
    scenario = state.snapshot.scenario(HOUR_MS)
    assert [job.leaving_by_ms for job in scenario.running] == [HOUR_MS + 9_000]
    assert scenario.recent_preemptions == (("default", 1),)
    fold(state, exited(generation=2, code=1))
    scenario = state.snapshot.scenario(2 * HOUR_MS)
    assert scenario.running == ()
    (waiting,) = scenario.waiting
    assert (waiting.requeued, waiting.attained_gpu_ms) == (True, 2 * HOUR_MS)


def test_a_shrinking_job_keeps_its_gpus_in_the_snapshot_until_they_are_free() -> None:
    both, one = seats(("n1", 0), ("n2", 0)), seats(("n1", 0))
    shrunk = ResizeOrdered(at_ms=HOUR_MS, job=JOB, attempt=1, workers=one)
    state = a_state(submitted(ELASTIC), started(), up(), shrunk)
    stays, leaves = state.snapshot.scenario(0).running
    assert (stays.workers, stays.leaving_by_ms) == (one, None)
    assert (leaves.workers, leaves.leaving_by_ms is not None) == (both[1:], True)
    fold(state, exited(1, generation=2))
    assert [job.workers for job in state.snapshot.scenario(0).running] == [one]


def test_a_shrinking_job_that_ends_leaves_nothing_behind() -> None:
    one = seats(("n1", 0))
    shrunk = ResizeOrdered(at_ms=HOUR_MS, job=JOB, attempt=1, workers=one)
    state = a_state(submitted(ELASTIC), started(), up(), shrunk)
    assert len(state.snapshot.scenario(0).running) == 2
    fold(state, NodeLost(at_ms=HOUR_MS, node=NodeName("n1")))
    fold(state, NodeLost(at_ms=HOUR_MS, node=NodeName("n2")))
    assert state.snapshot.scenario(0).running == ()


def test_a_checkpoint_is_shown_to_planning() -> None:
    saved = CheckpointSaved(at_ms=5_000, job=JOB, attempt=1)
    state = a_state(submitted(ELASTIC), started(), up())
    fold(state, saved)
    assert [job.checkpointed_ms for job in state.snapshot.scenario(0).running] == [5_000]


def test_a_lost_node_is_down_and_takes_its_jobs_along() -> None:
    state = a_state(submitted(), started(), up(), NodeLost(at_ms=3_000, node=NodeName("n2")))
    assert state.nodes[NodeName("n2")].state is NodeState.DOWN
    assert state.state_of(JOB) is JobState.STOPPING
    assert not fold(state, NodeLost(at_ms=3_001, node=NodeName("n2"))).is_change
    assert not fold(state, NodeLost(at_ms=3_001, node=NodeName("n99"))).is_change


def test_a_changed_node_is_changed_in_the_snapshot() -> None:
    node = a_node("n1", gpus=2, state="draining")
    state = a_state(NodeChanged(at_ms=1, node=node))
    assert state.nodes[NodeName("n1")].state is NodeState.DRAINING
    assert node in state.snapshot.scenario(0).cluster.nodes
    assert not fold(state, NodeChanged(at_ms=2, node=node)).is_change


def test_promises_replace_each_other() -> None:
    promise = Promise(job=JOB, start_ms=9, workers=seats(("n1", 0)), made_ms=1)
    state = a_state(submitted(), HoldsSet(at_ms=1, holds=(promise,)))
    assert state.snapshot.scenario(0).promises == (promise,)
    fold(state, HoldsSet(at_ms=2, holds=()))
    assert state.snapshot.scenario(0).promises == ()


def test_an_array_knows_the_sums_over_its_tasks() -> None:
    state = State(a_small_cluster())
    fold(state, submitted(evolve(a_job(), array=ArraySpec(indices=(0, 1, 2)))))
    task = JobId("job-1.0")
    fold(state, JobHeld(at_ms=1, job=JobId("job-1.2")))
    fold(state, evolve(started(seats(("n1", 0))), job=task))
    record, tally = state.array_record(JOB), state.arrays[JOB]
    assert (record.running_milli, record.first_started_ms, record.held) == (1_000, 1_000, False)
    assert record.gpu_ms(11_000) == 10_000
    fold(state, NodeLost(at_ms=61_000, node=NodeName("n1"), because="gone"))
    fold(state, JobCancelRequested(at_ms=62_000, job=JOB))
    tasks = [state.jobs[each] for each in tally.tasks]
    assert tally.node_failures == sum(each.node_failures for each in tasks) == 1
    assert tally.attained_gpu_ms == sum(each.attained_gpu_ms for each in tasks) > 0
    record = state.array_record(JOB)
    assert (record.running_milli, record.running_milli_ms, record.ended_ms) == (0, 0, 62_000)
    assert record.gpu_ms(100_000) == tally.attained_gpu_ms


def test_of_an_array_only_tasks_that_had_their_turn_are_shown_to_planning() -> None:
    spec = evolve(a_job(), array=ArraySpec(indices=(0, 1, 2), concurrency=1))
    state = a_state(JobSubmitted(at_ms=0, job=JOB, spec=spec))
    assert [job.id for job in state.snapshot.scenario(0).waiting] == ["job-1.0"]
    assert state.addressed(JOB) == ("job-1.0", "job-1.1", "job-1.2")
    fold(state, TurnCame(at_ms=1, job=JobId("job-1.1")))
    assert [job.id for job in state.snapshot.scenario(0).waiting] == ["job-1.0", "job-1.1"]
    fold(state, JobCancelRequested(at_ms=2, job=JOB))
    assert state.snapshot.scenario(0).waiting == ()
    assert state.state_of(JOB) is JobState.CANCELLED


def test_events_for_an_unknown_job_change_nothing() -> None:
    state = State(a_small_cluster())
    assert not fold(state, JobHeld(at_ms=5, job=JobId("unknown"))).is_change
    assert state.version == 0
    assert state.state_of(JobId("unknown")) is None
    fold(state, submitted())
    assert fold(state, JobHeld(at_ms=5, job=JOB)).is_change
    assert (state.version, state.state_of(JOB)) == (2, JobState.HELD)


def test_dependents_are_remembered() -> None:
    prep = Dependency(job=JobId("prep"))
    state = a_state(submitted(evolve(a_job(), depends_on=(prep,)), unmet=(JobId("prep"),)))
    assert state.dependents == {"prep": {JOB: (prep,)}}
