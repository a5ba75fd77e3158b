"""The writer's thread: what is asked for is done, written and answered, and what fails loses nothing."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest

from muster.backends.fake import FakeBackend
from muster.engine.engine import Engine
from muster.live import control_plane, saved_states
from muster.live.clock import SystemClock
from muster.live.configuration import Configuration
from muster.live.control_plane import ControlPlane, WriterRound
from muster.live.publishing.feed import Feed, Published
from muster.model.closed_rules import closed
from muster.model.errors import Corrupted, InvariantViolated, NotFound, Unavailable
from muster.model.events import Event as LogEvent
from muster.model.events import HoldsSet, JobSubmitted, NodeLost, ObservedEvent, RulesChanged
from muster.model.ids import JobId, NodeName, TeamPath
from muster.model.job import JobState
from muster.model.node import ClusterSpec, NodeState
from muster.model.scenario import Rules, Scenario
from muster.store.memory import MemoryLog, MemoryStates
from tests.builders import a_cluster, a_job, a_node, a_team
from tests.unit.live.writer import DEADLINE_S, FullDisk, StepClock, retried, running, submitted


def test_what_is_asked_for_is_in_the_log_when_it_is_answered() -> None:
    log = MemoryLog()
    with running(log) as control:
        job = submitted(control)
        assert any(isinstance(event, JobSubmitted) and event.job == job for event in log.read())


def test_what_waits_together_is_written_together() -> None:
    writes: list[int] = []

    class _Counting(MemoryLog):
        def append(self, events: Sequence[LogEvent], expected_version: int, **rest: Any) -> int:
            writes.append(sum(isinstance(event, JobSubmitted) for event in events))
            return super().append(events, expected_version, **rest)

    log = _Counting()
    control = ControlPlane(
        log=log,
        states=MemoryStates(),
        archive=log,
        backend=FakeBackend(),
        clock=StepClock(),
        configuration=Configuration(cluster=a_cluster(a_node("n1"))),
    )
    answers = [control.ask(lambda engine, now_ms: engine.submit(a_job(), now_ms)) for _ in range(50)]
    control.start()
    for answer in answers:
        answer.result(DEADLINE_S)
    control.stop()
    assert max(writes) == 50


def test_an_error_that_is_meant_is_the_answer_of_one_and_no_matter_to_others() -> None:
    with running() as control:
        failing = control.ask(lambda engine, now_ms: engine.cancel(JobId("nobody"), now_ms))
        with pytest.raises(NotFound):
            failing.result(DEADLINE_S)
        submitted(control)


def test_a_restart_goes_on_from_the_saved_state_and_what_came_after() -> None:
    log, states = MemoryLog(), MemoryStates()
    with running(log, states) as control:
        first = submitted(control)
    saved = saved_states.load(states)
    assert saved is not None
    assert saved.state.version == log.version
    with running(log, states) as control:
        assert first in control.state.jobs
        assert submitted(control) != first


def test_a_saved_state_of_other_code_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    log, states = MemoryLog(), MemoryStates()
    with running(log, states) as control:
        job = submitted(control)
    monkeypatch.setattr(saved_states, "LAYOUT", "another")
    assert saved_states.load(states) is None
    with running(log, states) as control:
        assert job in control.state.jobs


def test_when_writing_fails_nothing_happened_and_the_next_request_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    log = FullDisk()
    with running(log) as control:
        before = submitted(control)
        log.is_full = True
        refused = control.ask(lambda engine, now_ms: engine.submit(a_job("lost"), now_ms))
        with pytest.raises(Unavailable, match="disk is full"):
            refused.result(DEADLINE_S)
        log.is_full = False
        again = retried(control)
        assert [job.spec.name for job in control.state.jobs.values()] == ["train", "again"]
        assert again != before


def test_a_broken_invariant_stops_the_writer_and_lets_people_read() -> None:
    with running() as control:
        job = submitted(control)
        answer: Future[None] = control.ask(_break)
        with pytest.raises(Unavailable, match="the writer has stopped"):
            answer.result(DEADLINE_S)
        with pytest.raises(Unavailable, match="the writer has stopped"):
            control.ask(lambda engine, now_ms: engine.submit(a_job(), now_ms))
        assert "cannot be" in control.trouble
        assert job in control.state.jobs


def _break(_engine: Engine, _now_ms: int) -> None:
    raise InvariantViolated("this cannot be")


def test_watchers_are_told_what_was_written_and_nothing_else() -> None:
    with running() as control:
        woken: list[int] = []
        version = control.feed.version
        unsubscribe = control.feed.subscribe(lambda: woken.append(control.feed.version))
        job = submitted(control)
        unsubscribe()
        events = control.feed.after(version, 100)
        assert events is not None
        assert events[0][0] == version + 1
        told = events[0][1]
        assert isinstance(told.event, JobSubmitted)
        assert (told.event.job, told.team) == (job, "default")
        assert woken
        assert control.feed.after(control.feed.version, 100) == ()


def test_configured_rules_are_put_in_force_once_and_do_not_undo_what_was_changed_since() -> None:
    log = MemoryLog()
    configured = Rules(teams=(a_team("nlp", guaranteed={"*": 4}),))
    changed = Rules(teams=(a_team("nlp", guaranteed={"*": 8}),))
    cluster = a_cluster(a_node("n1", gpus=8))
    configuration = Configuration(cluster=cluster, rules=configured)
    with running(log, configuration=configuration) as control:
        assert control.state.snapshot.rules == closed(configured)
        assert control.ask(lambda engine, now_ms: engine.change_rules(changed, now_ms, by="ada")).result(DEADLINE_S)
    with running(log, configuration=configuration) as control:
        assert control.state.snapshot.rules == closed(changed)


def test_teams_that_were_kept_without_bounds_are_denied_what_they_were_not_allowed() -> None:
    """As in a database of an earlier version, whose rules leave open what a team may ask for."""
    log, cluster = MemoryLog(), a_cluster(a_node("n1", gpus=8))
    kept = Rules(teams=(a_team("nlp"), a_team("nlp/pre"), a_team("ops", tiers=("production", "standard"))))
    log.append([RulesChanged(at_ms=0, rules=kept, by="ada")], 0)
    with running(log, configuration=Configuration(cluster=cluster)) as control:
        teams = {team.path: team for team in control.state.snapshot.rules.teams}
    assert [teams[TeamPath(path)].tiers for path in ("nlp", "nlp/pre")] == [("standard", "exploratory")] * 2
    assert teams[TeamPath("ops")].tiers == ("production", "standard")
    assert not any(team.allow_unpreemptible for team in teams.values())


def test_rounds_are_measured() -> None:
    rounds: list[WriterRound] = []
    with running(on_round=rounds.append) as control:
        submitted(control)
    assert any(each.requests == 1 for each in rounds)
    assert all(each.write_s >= 0 and each.plan_s >= 0 for each in rounds)


def test_what_the_backend_reported_before_the_writer_listened_is_heard_at_the_start() -> None:
    log, cluster = MemoryLog(), a_cluster(a_node("n1", gpus=8))
    before = Engine(scenario=Scenario(now_ms=0, cluster=ClusterSpec()), log=log, backend=FakeBackend())
    before.change_cluster(cluster, 1)
    before.submit(a_job(), 1, job=JobId("job"))
    before.tick(1)
    control = ControlPlane(
        log=log,
        states=MemoryStates(),
        archive=log,
        backend=FakeBackend(),
        clock=StepClock(),
        configuration=Configuration(cluster=cluster),
    )
    started = control.feed.version
    told = Event()
    control.feed.subscribe(told.set)
    control.start()
    assert told.wait(DEADLINE_S), "the backend had news, and the writer did not look"
    control.stop()
    assert control.feed.version > started
    assert control.state.jobs[JobId("job")].state is JobState.RUNNING


class _Set:
    """A machine whose wall clock is set, with a clock for a control plane on it."""

    def __init__(self, wall_ms: int) -> None:
        self.wall_ms, self.steady_ms = wall_ms, 0

    def clock(self) -> SystemClock:
        return SystemClock(wall_ns=lambda: self.wall_ms * 1_000_000, steady_ns=lambda: self.steady_ms * 1_000_000)


HOUR_MS = 3_600_000


def test_a_restart_after_the_clock_was_set_back_goes_on_where_the_log_ends() -> None:
    log, machine = MemoryLog(), _Set(10 * HOUR_MS)
    with running(log, clock=machine.clock()) as control:
        submitted(control)
    machine.wall_ms -= HOUR_MS
    with running(log, clock=machine.clock()) as control:
        before_ms = control.state.now_ms
        machine.steady_ms += 60_000
        job = control.state.jobs[submitted(control)]
        assert job.submitted_ms >= before_ms + 50_000


@pytest.mark.parametrize("ahead_ms", [HOUR_MS, -HOUR_MS], ids=["from the future", "from the past"])
def test_a_report_by_a_clock_that_was_set_meanwhile_neither_hurries_time_nor_comes_early(ahead_ms: int) -> None:
    log, machine, backend = MemoryLog(), _Set(10 * HOUR_MS), _Careful()
    with running(log, clock=machine.clock(), backend=backend) as control:
        submitted(control)
        machine.wall_ms += ahead_ms
        backend.now_ms = machine.wall_ms
        backend.lose_node(NodeName("n1"))
        control.nudge()
        _until(lambda: bool(backend.recorded))
        assert control.state.now_ms == 10 * HOUR_MS
        (lost,) = (event for event in log.read() if isinstance(event, NodeLost))
        assert lost.at_ms == 10 * HOUR_MS


def test_a_feed_that_missed_something_sends_its_watchers_to_the_store() -> None:
    feed = Feed(5)
    feed.publish([Published(HoldsSet(at_ms=0, holds=()))])
    feed.catch_up(6)
    assert feed.after(5, 10) is not None
    feed.catch_up(9)
    assert feed.version == 9
    assert feed.after(6, 10) is None
    assert feed.after(9, 10) == ()


class _Careful(FakeBackend):
    """A backend that keeps what it reported until it is told that it was recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.polled: list[ObservedEvent] = []
        self.recorded: list[ObservedEvent] = []

    def poll(self) -> tuple[ObservedEvent, ...]:
        reports = super().poll()
        self.polled += reports
        return reports

    def acknowledge(self) -> None:
        self.recorded, self.polled = [*self.recorded, *self.polled], []


def test_what_was_reported_when_writing_failed_is_written_before_it_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    log, backend = FullDisk(), _Careful()
    control = ControlPlane(
        log=log,
        states=MemoryStates(),
        archive=log,
        backend=backend,
        clock=StepClock(),
        configuration=Configuration(cluster=a_cluster(a_node("n1", gpus=8), a_node("n2", gpus=8))),
    )
    told = Event()
    control.feed.subscribe(told.set)
    log.is_full = True
    backend.lose_node(NodeName("n1"))
    control.start()
    _until(lambda: bool(control.trouble))
    log.is_full = False
    assert told.wait(DEADLINE_S)
    control.stop()
    assert control.state.nodes[NodeName("n1")].state is NodeState.DOWN
    assert [type(event) for event in backend.recorded] == [NodeLost]


def _until(is_so: Callable[[], bool]) -> None:
    """Wait for another thread, which only needs a moment."""
    moment = Event()
    for _ in range(DEADLINE_S * 1_000):
        if is_so():
            return
        moment.wait(0.001)
    raise AssertionError("it never came to pass")


def test_a_store_that_is_damaged_when_the_writer_starts_again_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    log = FullDisk()
    with running(log) as control:
        submitted(control)

        def damaged(_from_version: int = 0) -> Iterator[LogEvent]:
            raise Corrupted("a byte has changed")

        monkeypatch.setattr(log, "read", damaged)
        log.is_full = True
        with pytest.raises(Unavailable):
            submitted(control)
        _until(lambda: control.has_stopped)
        assert "a byte has changed" in control.trouble
        with pytest.raises(Unavailable, match="the writer has stopped"):
            submitted(control)
