"""What the engine lets in: single jobs, pipelines, arrays, and several at once."""

from dataclasses import replace

import pytest

from muster.backends.fake import GangScript
from muster.core.admission import Admitted, Rejected
from muster.core.snapshot import Snapshot
from muster.engine.engine import Submitted
from muster.model.errors import Conflict, InvalidInput, KeyReused, NotFound
from muster.model.ids import JobId
from muster.model.job import Cause, JobState
from muster.model.plan import ReasonCode
from muster.model.policy import MINUTE_MS
from muster.model.records import evolve
from muster.model.spec import ArraySpec, Dependency, DependencyWhen, JobSpec
from tests.builders import a_job
from tests.unit.engine.world import PlannedByHand, World

HOUR_MS = 60 * MINUTE_MS
DONE = GangScript(run_ms=HOUR_MS)
BROKEN = GangScript(run_ms=MINUTE_MS, exit_code=1)


def test_what_admission_refuses_leaves_no_trace() -> None:
    refusal = Rejected(code=ReasonCode.NEVER_FITS, message="no node has 64 GPUs")

    def refuse(spec: JobSpec, snapshot: Snapshot) -> Admitted | Rejected:
        return refusal

    world = World(decisions=replace(PlannedByHand().decisions, admit=refuse))
    assert world.engine.submit(a_job(), 0) is refusal
    assert world.log.version == 0


def test_a_dependency_on_nothing_is_refused() -> None:
    world = World()
    spec = evolve(a_job(), depends_on=(Dependency(job=JobId("prep")),))
    answer = world.engine.submit(spec, 0)
    assert isinstance(answer, Rejected)
    assert answer.code is ReasonCode.DEPENDENCY
    assert "prep" in answer.message


def test_dependencies_that_have_ended_already_count() -> None:
    world = World()
    prep = world.submit(a_job(), DONE)
    world.run(until_ms=HOUR_MS)
    met = world.submit(evolve(a_job(), depends_on=(Dependency(job=prep),)))
    assert world.state_of(met) is JobState.QUEUED
    on_failure = Dependency(job=prep, when=DependencyWhen.FAILED)
    doomed = world.submit(evolve(a_job(), depends_on=(on_failure,)))
    assert world.state_of(doomed) is JobState.CANCELLED
    assert world.engine.job(doomed).cause is Cause.DEPENDENCY


def test_a_pipeline_runs_in_order() -> None:
    world = World()
    prep = world.submit(a_job(), DONE)
    train = world.submit(evolve(a_job(), depends_on=(Dependency(job=prep),)), DONE)
    world.settle()
    assert world.state_of(train) is JobState.BLOCKED
    world.run(until_ms=HOUR_MS)
    assert world.state_of(train) is JobState.RUNNING


def test_a_pipeline_is_let_in_whole_whatever_the_order_of_its_jobs() -> None:
    world = World()
    prep, train, evaluate = JobId("prep"), JobId("train"), JobId("eval")
    specs = {
        evaluate: evolve(a_job(), depends_on=(Dependency(job=train),)),
        train: evolve(a_job(), depends_on=(Dependency(job=prep),)),
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
        JobId("a"): evolve(a_job(), depends_on=(Dependency(job=JobId(waits_for)),)),
        JobId("b"): evolve(a_job(), depends_on=(Dependency(job=JobId("a")),)),
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
        World().engine.submit(evolve(a_job(), array=ArraySpec(indices=())), 0)


def test_an_array_keeps_its_cap_and_shows_one_progress() -> None:
    world = World()
    spec = evolve(a_job(), array=ArraySpec(indices=tuple(range(5)), concurrency=2))
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
    array = world.submit(evolve(a_job(), array=ArraySpec(indices=(3, 4, 5))), DONE)
    world.backend.script(JobId(f"{array}.4"), BROKEN)
    world.run(until_ms=HOUR_MS)
    assert world.engine.progress(array).state is JobState.FAILED
    again = world.engine.retry_failed(array, world.now_ms)
    assert isinstance(again, Submitted)
    assert world.engine.state.addressed(again.job) == (f"{again.job}.4",)
    world.run(until_ms=3 * HOUR_MS)
    assert world.engine.retry_failed(again.job, world.now_ms) is None


def test_the_failed_tasks_of_an_array_are_run_again_as_rules_have_changed_it() -> None:
    world = World()
    spec = evolve(a_job(), array=ArraySpec(indices=(3, 4, 5)))
    array = world.submit(spec, DONE)
    world.backend.script(JobId(f"{array}.4"), BROKEN)
    world.run(until_ms=HOUR_MS)
    again = world.engine.retry_failed(array, world.now_ms, spec=evolve(spec, priority=7))
    assert isinstance(again, Submitted)
    assert world.engine.state.addressed(again.job) == (f"{again.job}.4",)
    assert world.engine.job(JobId(f"{again.job}.4")).spec.priority == 7


def test_a_request_that_was_made_before_is_found_by_its_key() -> None:
    world = World()
    made = world.engine.submit(a_job(), 0, by="ada", key="k", fingerprint="f")
    assert isinstance(made, Submitted)
    assert world.engine.submitted_before("ada", "k", "f") == Submitted(job=made.job, is_new=False)
    assert world.engine.submitted_before("ada", "", "f") is None
    assert world.engine.submitted_before("bob", "k", "f") is None
    with pytest.raises(KeyReused):
        world.engine.submitted_before("ada", "k", "other")


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
