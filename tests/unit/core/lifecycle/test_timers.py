"""Whatever is due, a timer goes off for it."""

from muster.core.lifecycle import due_ms, transition
from muster.model.events import TimerFired
from muster.model.instructions import KillWorkers, WakeAt
from muster.model.job import Job, JobState
from tests.unit.core.lifecycle.builders import HOUR_MS, JOB, a_gang, a_spec


def a_job_with_two_things_due(at_ms: int) -> Job:
    """It is to be asked for a checkpoint at the same moment at which a worker that it gave up is to be killed."""
    *staying, leaving = a_gang(3)
    return Job(
        id=JOB,
        spec=a_spec(workers=1, workers_max=3),
        state=JobState.RUNNING,
        submitted_ms=0,
        attempt=1,
        generation=2,
        workers=tuple(staying),
        ready_ranks=(0, 1),
        leaving=(leaving,),
        leaving_by_ms=at_ms,
        ask_ms=at_ms,
        ends_by_ms=10 * HOUR_MS,
        billed_ms=0,
        started_ms=0,
    )


def test_of_two_things_due_at_once_the_second_is_not_forgotten() -> None:
    job = a_job_with_two_things_due(HOUR_MS)
    after, instructions = transition(job, TimerFired(at_ms=HOUR_MS, job=JOB))
    killed, woken = instructions
    assert isinstance(killed, KillWorkers)
    assert woken == WakeAt(job=JOB, at_ms=HOUR_MS)
    assert due_ms(after) == HOUR_MS
