"""Jobs that report no steps are watched by what they print."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from immutables import Map

from muster.live.publishing.publisher import NOTHING
from muster.live.watching import output_watch
from muster.live.watching.hang_reports import HangReports
from muster.live.watching.output_watch import LOOK_EVERY_MS, RANKS_LOOKED_AT, SILENCE_FACTOR, SILENT_MS, OutputWatch
from muster.model.events import HangFound, HangOver, ObservedEvent
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, JobState
from muster.model.records import evolve
from muster.model.spec import Remedy
from muster.model.telemetry import Signal, Telemetry
from tests.unit.core.lifecycle.builders import JOB, a_spec
from tests.unit.core.stragglers.builders import a_training
from tests.unit.live.threads import Threads, on_threads


@dataclass
class Watching:
    """Some jobs, and what their workers have printed."""

    hangs: HangReports
    jobs: dict[JobId, Job] = field(default_factory=dict)
    printed: dict[tuple[JobId, int, int], int] = field(default_factory=dict)
    steps: set[JobId] = field(default_factory=set)
    asked: int = 0
    now_ms: int = 0

    def __post_init__(self) -> None:
        self.watch = OutputWatch(
            printed_bytes=self._bytes, reports_steps=lambda job: job.id in self.steps, hangs=self.hangs
        )

    def _bytes(self, job: JobId, attempt: int, rank: int) -> int:
        self.asked += 1
        return self.printed.get((job, attempt, rank), 0)

    def after(self, span_ms: int) -> list[ObservedEvent | Telemetry]:
        self.now_ms += span_ms
        view = replace(NOTHING, jobs=Map(self.jobs), running=Map(self.jobs))
        return list(self.watch.look(view, self.now_ms))


@pytest.fixture
def watching() -> Iterator[Watching]:
    hangs = on_threads(HangReports(stacks=lambda *_: {}, keep=lambda *_: ""), Threads())
    made = Watching(hangs)
    made.jobs[JOB] = a_training()
    yield made
    hangs.close()


def that_restarts() -> Job:
    return a_training(evolve(a_spec(workers=4), on_hang=Remedy.RESTART))


def test_it_is_seen_when_a_job_last_printed(watching: Watching) -> None:
    assert watching.watch.last_output_ms(JOB) is None
    watching.after(0)
    assert watching.watch.last_output_ms(JOB) is None  # it runs, and has printed nothing yet
    watching.printed[JOB, 1, 3] = 10
    watching.after(LOOK_EVERY_MS)
    watching.after(LOOK_EVERY_MS)
    assert watching.watch.last_output_ms(JOB) == LOOK_EVERY_MS


def test_output_is_not_looked_at_all_the_time_nor_that_of_all_workers(watching: Watching) -> None:
    watching.jobs[JOB] = a_training(size=RANKS_LOOKED_AT + 4)
    watching.watch.take(Signal(node=NodeName("n1"), at_ms=0, signal="disk_free"))
    watching.after(0)
    watching.after(LOOK_EVERY_MS - 1)
    assert watching.asked == RANKS_LOOKED_AT


def test_many_jobs_take_turns(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_watch, "JOBS_PER_LOOK", 1)
    other = JobId("job-2")
    watching.jobs[other] = evolve(a_training(), id=other)
    watching.printed.update({(JOB, 1, 0): 10, (other, 1, 0): 10})
    watching.after(0)
    watching.after(1)
    assert (watching.watch.last_output_ms(JOB), watching.watch.last_output_ms(other)) in ((0, 1), (1, 0))


def test_a_job_that_reports_its_steps_is_not_watched_by_its_output(watching: Watching) -> None:
    watching.after(0)
    watching.steps.add(JOB)
    watching.after(LOOK_EVERY_MS)
    assert watching.watch.last_output_ms(JOB) is None


def test_a_new_attempt_begins_anew(watching: Watching) -> None:
    watching.after(0)
    watching.jobs[JOB] = evolve(watching.jobs[JOB], attempt=2)
    watching.printed[JOB, 2, 0] = 10
    watching.after(7)
    assert watching.watch.last_output_ms(JOB) == 7
    watching.jobs[JOB] = evolve(watching.jobs[JOB], state=JobState.STOPPING)
    watching.after(7)
    assert watching.watch.last_output_ms(JOB) is None


def found(watching: Watching) -> list[ObservedEvent | Telemetry]:
    """What is said now."""
    return watching.after(1)


def test_a_silent_job_is_only_called_hanging_when_its_file_says_what_to_do(watching: Watching) -> None:
    watching.after(0)
    watching.after(10 * SILENT_MS)
    assert found(watching) == []
    watching.jobs[JOB] = that_restarts()
    (event,) = found(watching)
    assert isinstance(event, HangFound)
    assert (event.hang.ranks, event.hang.since_ms, event.stacks) == ((0, 1, 2, 3), 0, "")


def test_a_job_that_prints_again_goes_on(watching: Watching) -> None:
    watching.jobs[JOB] = that_restarts()
    watching.after(0)
    assert watching.after(SILENT_MS - 1) == []
    (event,) = found(watching)
    assert isinstance(event, HangFound)
    watching.jobs[JOB] = evolve(watching.jobs[JOB], hang=event.hang)
    assert found(watching) == []
    watching.printed[JOB, 1, 0] = 10
    (over,) = watching.after(LOOK_EVERY_MS)
    assert isinstance(over, HangOver)
    assert watching.after(1) == []
    watching.jobs[JOB] = evolve(watching.jobs[JOB], hang=None)
    assert watching.after(LOOK_EVERY_MS) == []


def test_a_job_that_was_silent_before_may_be_silent_for_longer(watching: Watching) -> None:
    watching.jobs[JOB] = that_restarts()
    watching.after(0)
    watching.after(SILENT_MS // 2)
    watching.printed[JOB, 1, 0] = 10
    watching.after(LOOK_EVERY_MS)
    watching.after(2 * SILENT_MS)
    assert found(watching) == []
    assert len(watching.after(SILENCE_FACTOR * SILENT_MS)) == 1
