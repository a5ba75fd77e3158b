"""How a job got where it is, told from events."""

from muster.engine.story.steps import story
from muster.engine.timers import Timers
from muster.model.events import Event, HoldsSet, JobStarted, JobSubmitted, NodeLost, TimerFired, WorkersStarted
from muster.model.ids import JobId, NodeName
from muster.model.records import evolve
from muster.model.requests import JobCancelRequested
from muster.model.spec import ArraySpec
from tests.builders import a_job
from tests.unit.engine.world import seats

JOB = JobId("job-1")
ARRAY = evolve(a_job(), array=ArraySpec(indices=(0, 1)))


def started(job: JobId) -> JobStarted:
    return JobStarted(
        at_ms=5,
        job=job,
        attempt=1,
        generation=1,
        workers=seats(("n1", 0)),
        max_duration_ms=9_000,
        stop_grace_ms=1_000,
    )


def test_a_story_tells_what_each_event_made_of_the_job() -> None:
    events: tuple[Event, ...] = (
        HoldsSet(at_ms=0, holds=()),
        JobSubmitted(at_ms=0, job=JobId("job-10"), spec=a_job()),
        JobSubmitted(at_ms=0, job=JOB, spec=a_job(), by="ada"),
        HoldsSet(at_ms=4, holds=()),
        started(JOB),
        TimerFired(at_ms=6, job=JOB),
        NodeLost(at_ms=7, node=NodeName("n9")),
        NodeLost(at_ms=8, node=NodeName("n1"), because="no heartbeat"),
    )
    assert story(events, JOB).splitlines() == [
        "              0 ms  JobSubmitted(held=False, by=ada)  queued",
        (
            "              5 ms  JobStarted(attempt=1, generation=1, max_duration_ms=9000, stop_grace_ms=1000)  "
            "queued -> starting, generation 1 + StartWorkers + WakeAt"
        ),
        "              6 ms  TimerFired()  ignored",
        "              8 ms  NodeLost(node=n1, because=no heartbeat)  starting -> queued, generation 2 + KillWorkers",
    ]


def test_a_task_has_the_story_of_its_array_in_its_own() -> None:
    task = JobId("job-1.1")
    events: tuple[Event, ...] = (
        JobSubmitted(at_ms=0, job=JOB, spec=ARRAY),
        started(task),
        WorkersStarted(at_ms=6, job=JobId("job-1.0"), attempt=1, generation=1, ranks=(0,)),
        WorkersStarted(at_ms=6, job=task, attempt=1, generation=1, ranks=(0,)),
        JobCancelRequested(at_ms=7, job=JOB),
    )
    told = [line.split("  ")[-1] for line in story(events, task).splitlines()]
    assert told == [
        "queued",
        "queued -> starting, generation 1 + StartWorkers + WakeAt",
        "starting -> running, generation 1",
        "running -> stopping, generation 2 + SignalStop + WakeAt",
    ]


def test_nothing_is_told_of_jobs_that_never_were() -> None:
    events = (JobSubmitted(at_ms=0, job=JOB, spec=ARRAY),)
    assert story(events, JobId("job-1.7")) == "nothing is known of job-1.7"


def test_timers_go_off_in_order_and_once() -> None:
    timers = Timers()
    for job, at_ms in (("b", 20), ("a", 10), ("c", 10)):
        timers.set(JobId(job), at_ms)
    first = timers.next_ms
    assert first == 10
    assert [timers.pop_due(15) for _ in range(3)] == ["a", "c", None]
    assert timers.pop_due(20) == "b"
    assert (timers.next_ms, timers.pop_due(99)) == (None, None)
