"""What the ranks of running jobs report becomes progress, verdicts, and signals about nodes."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from immutables import Map

from muster.core.stragglers.hangs import HANG_MIN_MS
from muster.live.publishing.publisher import NOTHING
from muster.live.watching import progress_watch
from muster.live.watching.hang_reports import SAID_AGAIN_MS, HangReports
from muster.live.watching.progress_watch import SIGNAL_EVERY_MS, JobProgress, ProgressWatch
from muster.live.watching.stack_files import STACKS_S
from muster.model.errors import NotFound
from muster.model.events import HangFound, HangOver, ObservedEvent, StragglerFound, StragglerGone
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, JobState
from muster.model.records import evolve
from muster.model.telemetry import Hang, Signal, Straggler, Telemetry
from tests.unit.core.lifecycle.builders import JOB
from tests.unit.core.stragglers.builders import SECOND_MS, a_report, a_training
from tests.unit.live.threads import Threads

BUSY_US = 100_000


@dataclass
class Watching:
    """One job with four ranks under watch."""

    watch: ProgressWatch
    threads: Threads
    stacks: dict[int, str] = field(default_factory=lambda: dict.fromkeys(range(4), "Thread 1\n File x, line 1"))
    kept: list[tuple[JobId, int, dict[int, str]]] = field(default_factory=list)
    job: Job | None = field(default_factory=a_training)
    now_ms: int = 0
    step: int = 0
    disk_is_full: bool = False

    def seconds(
        self, count: int, *, slow: dict[int, float] | None = None, stands: bool = False, ranks: int = 4
    ) -> list[ObservedEvent | Telemetry]:
        """Let the ranks report for some seconds; what was said."""
        said: list[ObservedEvent | Telemetry] = []
        for _ in range(count):
            self.now_ms += SECOND_MS
            self.step += 0 if stands else 10
            for rank in range(ranks):
                busy_us = int(BUSY_US * (slow or {}).get(rank, 1))
                self.watch.take(
                    a_report(rank, step=self.step, steps=0 if stands else 10, busy_us=busy_us, at_ms=self.now_ms)
                )
            said += self.look()
        return said

    def look(self) -> list[ObservedEvent | Telemetry]:
        jobs = Map() if self.job is None else Map({self.job.id: self.job})
        is_running = self.job is not None and self.job.state.holds_resources
        view = replace(NOTHING, jobs=jobs, running=jobs if is_running else Map())
        return list(self.watch.look(view, self.now_ms))

    def changed(self, **fields: object) -> None:
        assert self.job is not None
        self.job = evolve(self.job, **fields)  # type: ignore[arg-type]


@pytest.fixture
def watching() -> Iterator[Watching]:
    made: list[Watching] = []

    def keep(job: JobId, attempt: int, stacks: object) -> str:
        if made[0].disk_is_full:
            raise OSError("no space")
        made[0].kept.append((job, attempt, dict(stacks)))  # type: ignore[call-overload]
        return "stacks.txt"

    def stacks(_: JobId, timeout_s: float) -> dict[int, str]:
        assert timeout_s == STACKS_S
        if not made[0].stacks:
            raise NotFound("none")
        return made[0].stacks

    hangs, threads = HangReports(stacks=stacks, keep=keep), Threads()
    hangs.close()
    hangs._threads = threads  # type: ignore[assignment]
    made.append(Watching(watch=ProgressWatch(hangs=hangs), threads=threads))
    yield made[0]
    hangs.close()
    assert threads.is_shut


def events(said: list[ObservedEvent | Telemetry]) -> list[ObservedEvent]:
    return [each for each in said if not isinstance(each, Telemetry)]


def signals(said: list[ObservedEvent | Telemetry]) -> list[Signal]:
    return [each for each in said if isinstance(each, Signal)]


def test_progress_can_be_asked_for(watching: Watching) -> None:
    assert watching.watch.progress(JOB) is None
    watching.seconds(3)
    found = watching.watch.progress(JOB)
    assert found is not None
    assert replace(found, ranks=(), timed=()) == JobProgress(
        attempt=1, step=30, last_step_ms=3 * SECOND_MS, p50_us=100_000, p99_us=100_000
    )
    assert [each.step for each in found.ranks] == [each.step for each in found.timed] == [30, 30, 30, 30]


def test_signals_of_nodes_and_reports_of_other_attempts_are_passed_over(watching: Watching) -> None:
    watching.watch.take(Signal(node=NodeName("n1"), at_ms=0, signal="disk_free"))
    watching.watch.take(a_report(0, attempt=7))
    watching.watch.take(a_report(0, job=JobId("job-9")))
    assert watching.look() == []
    assert watching.watch.progress(JOB) is None


def test_a_slow_rank_is_reported_once_it_is_in_the_record_and_again_if_it_is_not(watching: Watching) -> None:
    watching.seconds(3)
    (found,) = events(watching.seconds(5, slow={2: 1.4}))
    assert isinstance(found, StragglerFound)
    assert (found.straggler.rank, found.straggler.node, found.straggler.slowdown_milli) == (2, "n2", 1400)
    again = SAID_AGAIN_MS // SECOND_MS
    assert len(events(watching.seconds(again, slow={2: 1.4}))) == 1
    watching.changed(stragglers=(found.straggler,))
    assert events(watching.seconds(20, slow={2: 1.4})) == []
    (gone,) = events(watching.seconds(8))
    assert gone == StragglerGone(at_ms=gone.at_ms, job=JOB, attempt=1, rank=2)


def test_a_node_with_a_slow_rank_is_told_to_those_who_watch_its_health(watching: Watching) -> None:
    watching.seconds(3)
    said = signals(watching.seconds(5 + SIGNAL_EVERY_MS // SECOND_MS, slow={2: 1.4}))
    assert {(each.node, each.signal, each.verdict) for each in said} == {("n2", "custom.straggler", "suspect")}
    assert len(said) == 2
    said = signals(watching.seconds(10))
    assert [(each.node, each.verdict) for each in said][-1] == ("n2", "ok")


def test_the_node_is_fine_again_when_the_job_is_over(watching: Watching) -> None:
    watching.seconds(3)
    watching.seconds(5, slow={2: 1.4})
    watching.job = None
    assert [each.verdict for each in signals(watching.look())] == ["ok"]


def test_only_so_many_stragglers_of_an_attempt_are_reported(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_watch, "VERDICTS_PER_ATTEMPT", 0)
    watching.seconds(3)
    assert events(watching.seconds(5, slow={2: 1.4})) == []


def test_a_job_that_is_being_stopped_gets_no_verdicts(watching: Watching) -> None:
    watching.changed(state=JobState.STOPPING)
    watching.seconds(3)
    assert events(watching.seconds(8, slow={2: 1.4})) == []


def test_a_hang_is_reported_with_stacks_that_were_captured_before(watching: Watching) -> None:
    watching.seconds(3)
    watching.stacks[1] = "Thread 1\n File elsewhere, line 1"
    (found,) = events(watching.seconds(HANG_MIN_MS // SECOND_MS, stands=True))
    assert isinstance(found, HangFound)
    assert (found.hang.ranks, found.hang.nodes, found.hang.step, found.stacks) == ((1,), ("n1",), 30, "stacks.txt")
    assert watching.kept == [(JOB, 1, watching.stacks)]
    watching.changed(hang=found.hang)
    assert events(watching.seconds(30, stands=True)) == []
    (over,) = events(watching.seconds(2))
    assert isinstance(over, HangOver)


def test_a_hang_waits_for_its_stacks_but_not_for_ever(watching: Watching) -> None:
    watching.threads.waits = True
    watching.seconds(3)
    assert events(watching.seconds(HANG_MIN_MS // SECOND_MS, stands=True)) == []
    (found,) = events(watching.seconds(2 * int(STACKS_S), stands=True))
    assert isinstance(found, HangFound)
    assert (found.hang.ranks, found.stacks, watching.threads.begun) == ((0, 1, 2, 3), "", 1)


def test_a_hang_without_stacks_is_reported_as_well(watching: Watching) -> None:
    watching.stacks.clear()
    watching.seconds(3)
    (found,) = events(watching.seconds(HANG_MIN_MS // SECOND_MS, stands=True))
    assert isinstance(found, HangFound)
    assert found.stacks == ""


def test_a_full_disk_costs_the_stacks_and_not_the_verdict(watching: Watching) -> None:
    watching.disk_is_full = True
    watching.seconds(3)
    (found,) = events(watching.seconds(HANG_MIN_MS // SECOND_MS, stands=True))
    assert isinstance(found, HangFound)
    assert found.stacks == ""


def test_verdicts_of_the_record_are_known_to_a_watch_that_starts_anew(watching: Watching) -> None:
    straggler = Straggler(rank=2, worker=2, node=NodeName("n2"), slowdown_milli=1400, since_ms=0, steps=20)
    watching.changed(stragglers=(straggler,), hang=Hang(since_ms=0, ranks=(2,), step=20))
    said = events(watching.seconds(2))
    assert said == []
    assert [type(each) for each in events(watching.seconds(1))] == [HangOver]
    assert [type(each) for each in events(watching.seconds(6))] == [StragglerGone]


def test_the_next_attempt_is_judged_by_itself(watching: Watching) -> None:
    watching.seconds(3)
    watching.seconds(5, slow={2: 1.4})
    watching.changed(attempt=2)
    watching.watch.take(a_report(0, attempt=2, step=5))
    assert events(watching.look()) == []
    shown = watching.watch.progress(JOB)
    assert shown is not None
    assert (shown.attempt, shown.step) == (2, 5)


def test_progress_stays_after_the_end_for_a_while_and_is_forgotten_in_the_end(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching.seconds(3)
    watching.job = None
    watching.look()
    last = watching.watch.progress(JOB)
    assert last is not None
    assert (last.step, last.ranks, last.timed) == (30, (), ())
    monkeypatch.setattr(progress_watch, "ENDED_PROGRESS_KEPT", 0)
    for number in range(3):
        watching.job = evolve(a_training(), id=JobId(f"job-{number + 2}"))
        watching.watch.take(a_report(0, job=watching.job.id))
        watching.look()
    watching.job = None
    watching.look()
    assert watching.watch.progress(JOB) is None
