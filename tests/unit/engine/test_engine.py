"""The engine as a whole on a small cluster: from submission to the end, through failures and restarts."""

from dataclasses import replace

import pytest

from muster.backends.fake import Script
from muster.core.admission import Admitted, Rejected
from muster.core.snapshot import Snapshot
from muster.engine.apply import Applied, Dropped
from muster.engine.engine import Submitted
from muster.engine.state import State, fold
from muster.model.errors import Conflict, InvalidInput, NotFound
from muster.model.events import (
    CheckpointSaved,
    EvictionOrdered,
    JobStarted,
    NodeChanged,
    TimerFired,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, StartWorkers
from muster.model.job import Cause, JobState
from muster.model.limits import REPLAN_AFTER_DROP_MS
from muster.model.node import NodeState
from muster.model.plan import Plan, ReasonCode, Start
from muster.model.policy import MINUTE_MS
from muster.model.records import changed
from muster.model.spec import ArraySpec, Dependency, DependencyWhen, JobSpec, Retry
from tests.builders import a_job, a_team
from tests.unit.engine.world import FOREVER, PlannedByHand, World, a_small_cluster, seats

HOUR_MS = 60 * MINUTE_MS
DONE = Script(run_ms=HOUR_MS)
BROKEN = Script(run_ms=MINUTE_MS, exit_code=1)


def test_a_job_runs_from_submission_to_success() -> None:
    world = World()
    job = world.submit(a_job(workers=2, gpus=2), DONE)
    assert job == "job-1"
    assert world.state_of(job) is JobState.QUEUED
    world.settle()
    assert world.state_of(job) is JobState.RUNNING
    world.run(until_ms=HOUR_MS)
    assert world.state_of(job) is JobState.SUCCEEDED
    assert world.engine.job(job).attained_gpu_ms == 4 * HOUR_MS
    assert world.engine.next_ms is None or world.engine.next_ms > HOUR_MS


def test_jobs_wait_for_each_other_when_the_cluster_is_full() -> None:
    world = World()
    first = world.submit(a_job(workers=2, gpus=2), DONE)
    second = world.submit(a_job(workers=2, gpus=2), DONE)
    world.settle()
    assert [world.state_of(job) for job in (first, second)] == [JobState.RUNNING, JobState.QUEUED]
    world.run(until_ms=HOUR_MS)
    assert world.state_of(second) is JobState.RUNNING


def test_a_tick_without_news_plans_nothing() -> None:
    hand = PlannedByHand()
    world = World(decisions=hand.decisions)
    world.submit(a_job())
    due = world.engine.next_ms
    assert due == 0
    assert world.engine.tick(0) is not None
    assert world.engine.tick(1) is None
    assert (hand.calls, world.engine.next_ms) == (1, None)


def test_a_plan_can_ask_to_be_made_again_later() -> None:
    hand = PlannedByHand()
    world = World(decisions=hand.decisions)
    world.submit(a_job())
    hand.plans = [Plan(version=world.engine.state.snapshot.version, now_ms=0, wake_ms=5_000)]
    world.engine.tick(0)
    assert world.engine.next_ms == 5_000
    assert world.engine.tick(4_999) is None
    assert world.engine.tick(5_000) is not None


def test_a_plan_with_problems_is_dropped_and_not_made_again_at_once() -> None:
    hand = PlannedByHand()
    hand.problems = ("GPU 0 of n1 is given to two jobs",)
    world = World(decisions=hand.decisions)
    world.submit(a_job())
    report = world.engine.tick(0)
    assert report is not None
    assert report.outcome == Dropped(reasons=hand.problems)
    assert world.engine.tick(REPLAN_AFTER_DROP_MS - 1) is None
    assert world.engine.next_ms == REPLAN_AFTER_DROP_MS
    assert world.engine.tick(REPLAN_AFTER_DROP_MS) is not None


def test_a_stale_plan_is_dropped_and_made_again() -> None:
    hand = PlannedByHand()
    world = World(decisions=hand.decisions)
    job = world.submit(a_job())
    hand.plans = [Plan(version=-1, now_ms=0, starts=(Start(job=job, workers=seats(("n1", 0))),))]
    report = world.engine.tick(0)
    assert report is not None
    assert isinstance(report.outcome, Dropped)
    again = world.engine.tick(0)
    assert again is not None
    assert again.outcome == Applied(events=())


def test_what_admission_refuses_leaves_no_trace() -> None:
    refusal = Rejected(code=ReasonCode.NEVER_FITS, message="no node has 64 GPUs")

    def refuse(spec: JobSpec, snapshot: Snapshot) -> Admitted | Rejected:
        return refusal

    world = World(decisions=replace(PlannedByHand().decisions, admit=refuse))
    assert world.engine.submit(a_job(), 0) is refusal
    assert world.log.version == 0


def test_a_dependency_on_nothing_is_refused() -> None:
    world = World()
    spec = changed(a_job(), depends_on=(Dependency(job=JobId("prep")),))
    answer = world.engine.submit(spec, 0)
    assert isinstance(answer, Rejected)
    assert answer.code is ReasonCode.DEPENDENCY
    assert "prep" in answer.message


def test_dependencies_that_have_ended_already_count() -> None:
    world = World()
    prep = world.submit(a_job(), DONE)
    world.run(until_ms=HOUR_MS)
    met = world.submit(changed(a_job(), depends_on=(Dependency(job=prep),)))
    assert world.state_of(met) is JobState.QUEUED
    on_failure = Dependency(job=prep, when=DependencyWhen.FAILED)
    doomed = world.submit(changed(a_job(), depends_on=(on_failure,)))
    assert world.state_of(doomed) is JobState.CANCELLED
    assert world.engine.job(doomed).cause is Cause.DEPENDENCY


def test_a_pipeline_runs_in_order() -> None:
    world = World()
    prep = world.submit(a_job(), DONE)
    train = world.submit(changed(a_job(), depends_on=(Dependency(job=prep),)), DONE)
    world.settle()
    assert world.state_of(train) is JobState.BLOCKED
    world.run(until_ms=HOUR_MS)
    assert world.state_of(train) is JobState.RUNNING


def test_a_pipeline_is_let_in_whole_whatever_the_order_of_its_jobs() -> None:
    world = World()
    prep, train, evaluate = JobId("prep"), JobId("train"), JobId("eval")
    specs = {
        evaluate: changed(a_job(), depends_on=(Dependency(job=train),)),
        train: changed(a_job(), depends_on=(Dependency(job=prep),)),
        prep: a_job(),
    }
    assert world.engine.submit_all(specs, 0) == (Submitted(job=prep), Submitted(job=train), Submitted(job=evaluate))
    assert [world.state_of(job) for job in specs] == [JobState.BLOCKED, JobState.BLOCKED, JobState.QUEUED]
    world.run(until_ms=HOUR_MS)
    assert world.state_of(evaluate) is JobState.SUCCEEDED


@pytest.mark.parametrize(
    ("waits_for", "problem"),
    [("b", "wait for each other: "), ("older", "a: depends on older, which does not exist")],
)
def test_a_pipeline_with_a_flaw_is_refused_whole(waits_for: str, problem: str) -> None:
    world = World()
    specs = {
        JobId("a"): changed(a_job(), depends_on=(Dependency(job=JobId(waits_for)),)),
        JobId("b"): changed(a_job(), depends_on=(Dependency(job=JobId("a")),)),
    }
    answer = world.engine.submit_all(specs, 0)
    assert isinstance(answer, Rejected)
    assert problem in answer.message
    assert world.log.version == 0


def test_ids_are_given_in_order_and_may_be_brought_along() -> None:
    world = World()
    world.submit(a_job(), job="job-2")
    assert world.submit(a_job()) == "job-3"
    with pytest.raises(Conflict, match="job-2"):
        world.engine.submit(a_job(), 0, job=JobId("job-2"))


def test_an_array_must_have_tasks() -> None:
    with pytest.raises(InvalidInput, match="between 1 and"):
        World().engine.submit(changed(a_job(), array=ArraySpec(indices=())), 0)


def test_a_held_job_starts_when_it_is_released() -> None:
    world = World()
    job = world.submit(a_job(), DONE, held=True)
    world.settle()
    assert world.state_of(job) is JobState.HELD
    assert not world.engine.hold(job, 0)
    assert world.engine.release(job, 0)
    world.settle()
    assert world.state_of(job) is JobState.RUNNING
    assert world.engine.hold(job, 0)


def test_a_running_job_is_cancelled_and_its_gpus_are_free() -> None:
    world = World(a_small_cluster(1, 1))
    first, second = world.submit(a_job(), FOREVER), world.submit(a_job(), FOREVER)
    world.settle()
    assert world.engine.cancel(first, 0)
    world.settle()
    assert [world.state_of(job) for job in (first, second)] == [JobState.CANCELLED, JobState.RUNNING]
    assert not world.engine.cancel(first, 0)


def test_nobody_can_wish_anything_for_a_job_that_does_not_exist() -> None:
    engine, nobody = World().engine, JobId("nobody")
    for wish in (engine.cancel, engine.hold, engine.release):
        with pytest.raises(NotFound):
            wish(nobody, 0)
    with pytest.raises(NotFound):
        engine.job(nobody)
    with pytest.raises(NotFound):
        engine.progress(nobody)
    with pytest.raises(NotFound):
        engine.retry_failed(nobody, 0)
    assert "nothing is known" in engine.story(nobody)


def test_an_array_keeps_its_cap_and_shows_one_progress() -> None:
    world = World()
    spec = changed(a_job(), array=ArraySpec(indices=tuple(range(5)), concurrency=2))
    array = world.submit(spec, DONE)
    world.settle()
    assert world.engine.progress(array).counts == ((JobState.BLOCKED, 3), (JobState.RUNNING, 2))
    world.run(until_ms=HOUR_MS)
    assert world.engine.progress(array).percent == 40
    world.run(until_ms=3 * HOUR_MS)
    progress = world.engine.progress(array)
    assert (progress.percent, progress.state) == (100, JobState.SUCCEEDED)


def test_only_the_failed_tasks_of_an_array_are_run_again() -> None:
    world = World()
    array = world.submit(changed(a_job(), array=ArraySpec(indices=(3, 4, 5))), DONE)
    world.backend.script(JobId(f"{array}.4"), BROKEN)
    world.run(until_ms=HOUR_MS)
    assert world.engine.progress(array).state is JobState.FAILED
    again = world.engine.retry_failed(array, world.now_ms)
    assert isinstance(again, Submitted)
    assert world.engine.state.addressed(again.job) == (f"{again.job}.4",)
    world.run(until_ms=3 * HOUR_MS)
    assert world.engine.retry_failed(again.job, world.now_ms) is None


def test_a_failing_job_is_tried_again_and_given_up() -> None:
    world = World()
    job = world.submit(changed(a_job(), retry=Retry(limit=2)), BROKEN)
    world.run(until_ms=HOUR_MS)
    record = world.engine.job(job)
    assert (record.state, record.attempt, record.retries_used) == (JobState.FAILED, 3, 2)


def test_a_job_is_told_and_killed_in_time_for_its_maximum_duration() -> None:
    world = World()
    job = world.submit(a_job(hours=1), Script(run_ms=None, stop_ms=None))
    world.run(until_ms=HOUR_MS - 30_001)
    assert world.state_of(job) is JobState.RUNNING
    world.run(until_ms=HOUR_MS - 1)
    assert world.state_of(job) is JobState.STOPPING
    world.run(until_ms=HOUR_MS)
    assert world.state_of(job) is JobState.TIMED_OUT
    assert [event.at_ms for event in world.events(TimerFired)] == [HOUR_MS - 30_000, HOUR_MS]


def test_a_lost_node_costs_one_restart_elsewhere() -> None:
    world = World(a_small_cluster(3, 2))
    job = world.submit(a_job(workers=2, gpus=2), FOREVER)
    world.settle()
    used = [worker.node for worker in world.engine.job(job).workers]
    world.backend.lose_node(used[1])
    world.settle()
    record = world.engine.job(job)
    assert (record.state, record.attempt, record.node_failures) == (JobState.RUNNING, 2, 1)
    assert used[1] not in [worker.node for worker in record.workers]


def test_a_gpu_that_went_bad_costs_no_retry() -> None:
    world = World()
    job = world.submit(a_job(workers=2, gpus=1), BROKEN, DONE)
    world.settle()
    node = world.engine.job(job).workers[0].node
    broken = changed(world.engine.state.nodes[node], bad_gpus=world.engine.job(job).workers[0].gpus)
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=broken, because="it fell off the bus"))
    world.run(2 * HOUR_MS)
    after = world.engine.job(job)
    assert (after.state, after.attempt, after.retries_used, after.node_failures) == (JobState.SUCCEEDED, 2, 0, 1)


def test_an_urgent_job_takes_the_place_of_another_which_comes_back() -> None:
    world = World(a_small_cluster(1, 1))
    script = Script(run_ms=3 * HOUR_MS, saves=True, save_cost_ms=5_000, stop_ms=10_000)
    victim = world.submit(a_job(tier="exploratory", checkpoint=True), script)
    world.run(until_ms=HOUR_MS)
    urgent = world.submit(a_job(tier="production"), DONE)
    world.settle()
    assert world.state_of(victim) is JobState.CHECKPOINTING
    (eviction,) = world.events(EvictionOrdered)
    assert isinstance(eviction, EvictionOrdered)
    assert (eviction.for_job, eviction.by_ms) == (urgent, HOUR_MS + 120_000)
    world.run(until_ms=HOUR_MS + 10_000)
    assert world.state_of(urgent) is JobState.RUNNING
    record = world.engine.job(victim)
    assert (record.state, record.requeued, record.checkpointed_ms) == (JobState.QUEUED, True, HOUR_MS + 5_000)
    world.run(until_ms=2 * HOUR_MS + 10_000)
    assert world.state_of(victim) is JobState.RUNNING
    assert not world.engine.job(victim).requeued


def test_a_job_that_saves_is_asked_to() -> None:
    world = World()
    world.submit(a_job(checkpoint=True), Script(run_ms=None, saves=True, save_cost_ms=1_000))
    world.run(until_ms=HOUR_MS)
    assert [event.at_ms for event in world.events(CheckpointSaved)] == [30 * MINUTE_MS + 1_000]


def test_an_elastic_job_grows_into_what_is_idle_and_shrinks_for_others() -> None:
    world = World(a_small_cluster(1, 4))
    elastic = world.submit(a_job(workers=(1, 4), checkpoint=True), FOREVER)
    world.run(until_ms=30 * MINUTE_MS)
    assert len(world.engine.job(elastic).workers) == 4
    other = world.submit(a_job(workers=2, tier="production"), FOREVER)
    world.run(until_ms=40 * MINUTE_MS)
    assert world.state_of(other) is JobState.RUNNING
    record = world.engine.job(elastic)
    assert (record.state, record.attempt, len(record.workers)) == (JobState.RUNNING, 1, 2)
    assert world.backend.alive(elastic) == tuple(worker.rank for worker in record.workers)


def test_a_drained_node_gets_nothing_new() -> None:
    world = World(a_small_cluster(1, 1))
    job = world.submit(a_job(), DONE)
    world.settle()
    world.engine.observe(_drain(world))
    second = world.submit(a_job(), DONE)
    world.run(until_ms=2 * HOUR_MS)
    assert [world.state_of(each) for each in (job, second)] == [JobState.SUCCEEDED, JobState.QUEUED]
    assert world.engine.state.nodes[NodeName("n1")].state is NodeState.DRAINED


def _drain(world: World) -> NodeChanged:
    node = world.engine.state.nodes[NodeName("n1")]
    return NodeChanged(at_ms=world.now_ms, node=changed(node, state=NodeState.DRAINING), because="maintenance")


def test_a_restarted_engine_knows_everything_and_goes_on() -> None:
    world = World()
    job = world.submit(a_job(workers=2, hours=1), FOREVER)
    waiting = world.submit(a_job(workers=4), DONE)
    world.run(until_ms=MINUTE_MS)
    again = world.restarted()
    assert again.engine.state.jobs == world.engine.state.jobs
    assert again.engine.state.snapshot.scenario(0) == world.engine.state.snapshot.scenario(0)
    again.run(until_ms=HOUR_MS)
    assert again.state_of(job) is JobState.TIMED_OUT
    assert again.state_of(waiting) is JobState.RUNNING
    assert len(again.events(JobStarted)) == 2


class DeafBackend:
    """A backend that the engine cannot reach."""

    def send(self, command: Command) -> None:
        """Lose the command."""

    def poll(self) -> tuple[()]:
        """Hear nothing."""
        return ()


def test_commands_that_were_lost_in_a_crash_are_made_up_for() -> None:
    world = World()
    job = world.submit(a_job(), DONE)
    world.engine._backend = DeafBackend()
    world.engine.tick(0)
    assert (world.state_of(job), world.backend.alive(job)) == (JobState.STARTING, ())
    again = world.restarted()
    again.run(until_ms=HOUR_MS)
    assert again.state_of(job) is JobState.SUCCEEDED


def test_a_stop_for_a_gang_that_was_never_started_ends_it() -> None:
    world = World()
    job = world.submit(a_job(), DONE)
    world.engine._backend = DeafBackend()
    world.engine.tick(0)
    world.engine.cancel(job, 0)
    again = world.restarted()
    again.settle()
    assert again.state_of(job) is JobState.CANCELLED


def test_a_batch_is_written_at_once() -> None:
    world = World()
    with world.engine.batch():
        for _ in range(3):
            world.engine.submit(a_job(), 0)
        assert world.log.version == 0
    assert world.log.version == 3


def test_what_was_recorded_before_an_error_in_a_batch_is_not_lost() -> None:
    world = World()

    def submit_and_fail() -> None:
        with world.engine.batch():
            world.engine.submit(a_job(), 0)
            world.engine.cancel(JobId("nobody"), 0)

    with pytest.raises(NotFound):
        submit_and_fail()
    assert world.log.version == 1


def test_reports_that_are_no_news_are_counted_as_such() -> None:
    world = World()
    job = world.submit(a_job(), FOREVER)
    world.engine.tick(0)
    report = WorkersStarted(at_ms=0, job=job, attempt=1, generation=1, ranks=(0,))
    assert world.engine.observe(report, report) == 1


def test_the_story_of_a_job_is_told_from_the_log() -> None:
    world = World()
    job = world.submit(changed(a_job(), retry=Retry(limit=1)), BROKEN)
    other = world.submit(a_job(), DONE)
    world.run(until_ms=MINUTE_MS)
    world.engine.hold(job, MINUTE_MS)
    story = world.engine.story(job)
    lines = [line.split("ms  ")[1].split("(")[0] for line in story.splitlines()]
    assert lines == [
        "JobSubmitted",
        "JobStarted",
        "WorkersStarted",
        "WorkersExited",
        "JobStarted",
        "WorkersStarted",
        "JobHeld",
    ]
    assert "queued -> starting, generation 1 + StartWorkers + WakeAt" in story
    assert "exit_code=1" in story
    assert other not in story


def test_the_log_alone_gives_the_same_state() -> None:
    world = World()
    world.submit(changed(a_job(), array=ArraySpec(indices=(0, 1, 2), concurrency=1), retry=Retry(limit=1)), BROKEN)
    world.submit(a_job(workers=2, checkpoint=True), Script(run_ms=HOUR_MS, saves=True))
    world.run(until_ms=30 * MINUTE_MS)
    world.backend.lose_node(NodeName("n1"))
    world.run(until_ms=2 * HOUR_MS)
    replayed = State(world.scenario)
    for event in world.log.read():
        assert fold(replayed, event).is_change
    assert replayed.jobs == world.engine.state.jobs
    assert replayed.version == world.log.version
    now_ms = world.now_ms
    assert replayed.snapshot.scenario(now_ms) == world.engine.state.snapshot.scenario(now_ms)


def test_commands_name_the_whole_gang() -> None:
    sent: list[Command] = []

    class Listening(DeafBackend):
        def send(self, command: Command) -> None:
            sent.append(command)

    world = World()
    world.submit(a_job(workers=2))
    world.engine._backend = Listening()
    world.engine.tick(0)
    (command,) = sent
    assert isinstance(command, StartWorkers)
    assert command.workers == command.gang
    assert len(command.gang) == 2


def test_a_job_that_was_promised_a_distant_start_preempts_once_its_victim_has_run_long_enough() -> None:
    world = World(a_small_cluster(nodes=1))
    low = world.submit(a_job(gpus=2, tier="exploratory"), FOREVER)
    world.settle()
    high = world.submit(a_job(gpus=2), FOREVER)
    world.run(until_ms=9 * MINUTE_MS)
    assert world.state_of(low) is JobState.RUNNING
    assert world.engine.state.snapshot.holds[high].start_ms > HOUR_MS
    world.run(until_ms=11 * MINUTE_MS)
    assert world.state_of(low) is JobState.QUEUED
    assert world.state_of(high) is JobState.RUNNING


def test_a_team_takes_its_guarantee_back_although_it_was_promised_a_distant_start() -> None:
    scenario = changed(a_small_cluster(nodes=1), teams=(a_team("nlp", guaranteed={"*": 2}), a_team("cv")))
    world = World(scenario)
    borrower = world.submit(a_job(gpus=2, team="cv"), FOREVER)
    world.settle()
    owner = world.submit(a_job(gpus=2, team="nlp"), FOREVER)
    world.run(until_ms=11 * MINUTE_MS)
    assert world.state_of(borrower) is JobState.QUEUED
    assert world.state_of(owner) is JobState.RUNNING


def test_nobody_is_preempted_for_a_start_that_would_come_as_soon_without() -> None:
    world = World(a_small_cluster(nodes=1))
    low = world.submit(a_job(gpus=2, tier="exploratory", hours=0.2, checkpoint=True, grace_ms=5 * MINUTE_MS), FOREVER)
    world.settle()
    world.submit(a_job(gpus=2), FOREVER)
    world.run(until_ms=HOUR_MS)
    assert world.engine.job(low).preemptions == 0
