"""The writer's thread: what is asked for is done, written and answered, and what fails loses nothing."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from muster.backends.fake import FakeBackend
from muster.engine.engine import Engine, Submitted
from muster.live import control_plane, saved_states
from muster.live.clock import SystemClock
from muster.live.control_plane import Configuration, ControlPlane, Turn
from muster.live.feed import Feed
from muster.model.audit import AuditEntry
from muster.model.closed_rules import closed
from muster.model.errors import Corrupted, InvariantViolated, NotFound, Refused, Unavailable
from muster.model.events import Event as LogEvent
from muster.model.events import HoldsSet, JobSubmitted, NodeLost, ObservedEvent, RulesChanged
from muster.model.ids import JobId, NodeName, TeamPath
from muster.model.job import Job, JobState
from muster.model.node import ClusterSpec, NodeState
from muster.model.scenario import Rules, Scenario
from muster.model.spec import JobSpec
from muster.store.memory import MemoryLog, MemoryStates
from tests.builders import a_cluster, a_job, a_node, a_team

DEADLINE_S = 10


class _Clock:
    def __init__(self) -> None:
        self._now_ms = 1_000

    def now_ms(self) -> int:
        self._now_ms += 1
        return self._now_ms

    def not_before(self, at_ms: int) -> None:
        self._now_ms = max(self._now_ms, at_ms)

    def from_wall(self, at_ms: int) -> int:
        return at_ms


class _Backend(FakeBackend):
    def acknowledge(self) -> None:
        pass


class _FullDisk(MemoryLog):
    """A store that cannot write while it is full."""

    is_full = False

    def append(
        self,
        events: Sequence[LogEvent],
        expected_version: int,
        *,
        jobs: Sequence[Job] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        if self.is_full:
            raise Unavailable("the disk is full")
        return super().append(events, expected_version, jobs=jobs, audit=audit)


@contextmanager
def _running(log: MemoryLog | None = None, states: MemoryStates | None = None, **fields: Any) -> Iterator[ControlPlane]:
    configuration = fields.pop("configuration", None) or Configuration(cluster=a_cluster(a_node("n1", gpus=8)))
    control = ControlPlane(
        log=log or MemoryLog(),
        states=states or MemoryStates(),
        backend=fields.pop("backend", None) or _Backend(),
        clock=fields.pop("clock", None) or _Clock(),
        configuration=configuration,
        **fields,
    )
    control.start()
    try:
        yield control
    finally:
        control.stop()


def _submit(control: ControlPlane, spec: JobSpec | None = None) -> JobId:
    answer = control.ask(lambda engine, now_ms: engine.submit(spec or a_job(), now_ms)).result(DEADLINE_S)
    assert isinstance(answer, Submitted)
    return answer.job


def test_what_is_asked_for_is_in_the_log_when_it_is_answered() -> None:
    log = MemoryLog()
    with _running(log) as control:
        job = _submit(control)
        assert any(isinstance(event, JobSubmitted) and event.job == job for event in log.read())


def test_what_waits_together_is_written_together() -> None:
    writes: list[int] = []

    class _Counting(MemoryLog):
        def append(self, events: Sequence[LogEvent], expected_version: int, **rest: Any) -> int:
            writes.append(sum(isinstance(event, JobSubmitted) for event in events))
            return super().append(events, expected_version, **rest)

    control = ControlPlane(
        log=_Counting(),
        states=MemoryStates(),
        backend=_Backend(),
        clock=_Clock(),
        configuration=Configuration(cluster=a_cluster(a_node("n1"))),
    )
    answers = [control.ask(lambda engine, now_ms: engine.submit(a_job(), now_ms)) for _ in range(50)]
    control.start()
    for answer in answers:
        answer.result(DEADLINE_S)
    control.stop()
    assert max(writes) == 50


def test_an_error_that_is_meant_is_the_answer_of_one_and_no_matter_to_others() -> None:
    with _running() as control:
        failing = control.ask(lambda engine, now_ms: engine.cancel(JobId("nobody"), now_ms))
        with pytest.raises(NotFound):
            failing.result(DEADLINE_S)
        _submit(control)


def test_a_restart_goes_on_from_the_saved_state_and_what_came_after() -> None:
    log, states = MemoryLog(), MemoryStates()
    with _running(log, states) as control:
        first = _submit(control)
    saved = saved_states.load(states)
    assert saved is not None
    assert saved.version == log.version
    with _running(log, states) as control:
        assert first in control.state.jobs
        assert _submit(control) != first


def test_a_saved_state_of_other_code_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    log, states = MemoryLog(), MemoryStates()
    with _running(log, states) as control:
        job = _submit(control)
    monkeypatch.setattr(saved_states, "layout", lambda: "another")
    assert saved_states.load(states) is None
    with _running(log, states) as control:
        assert job in control.state.jobs


def test_when_writing_fails_nothing_happened_and_the_next_request_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    log = _FullDisk()
    with _running(log) as control:
        before = _submit(control)
        log.is_full = True
        refused = control.ask(lambda engine, now_ms: engine.submit(a_job("lost"), now_ms))
        with pytest.raises(Unavailable, match="disk is full"):
            refused.result(DEADLINE_S)
        log.is_full = False
        again = _retried(control)
        assert [job.spec.name for job in control.state.jobs.values()] == ["train", "again"]
        assert again != before


def test_a_start_that_cannot_write_lets_people_read_and_goes_on_once_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    log = _FullDisk()
    with _running(log) as control:
        job = _submit(control)
    log.is_full = True
    more = Configuration(cluster=a_cluster(a_node("n1", gpus=8), a_node("n2", gpus=8)))
    with _running(log, configuration=more) as control:
        assert "disk is full" in control.trouble
        assert list(control.state.nodes) == ["n1"]
        assert job in control.state.jobs
        with pytest.raises(Unavailable, match="disk is full"):
            _submit(control)
        log.is_full = False
        _retried(control)
        assert list(control.state.nodes) == ["n1", "n2"]
        assert not control.trouble


class _Hanging(MemoryLog):
    """A store that answers only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = Event()
        self.answers.set()

    def append(self, events: Sequence[LogEvent], expected_version: int, **rest: Any) -> int:
        self.answers.wait(DEADLINE_S)
        return super().append(events, expected_version, **rest)


def test_a_store_that_hangs_is_told_while_the_writer_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "STORE_SILENCE_MS", 20)
    log = _Hanging()
    with _running(log) as control:
        before = _submit(control)
        log.answers.clear()
        answer = control.ask(lambda engine, now_ms: engine.submit(a_job(), now_ms))
        _await(lambda: "has not answered" in control.trouble)
        assert control.brief_trouble == "the store does not answer"
        with pytest.raises(Unavailable, match="has not answered"):
            _submit(control)
        assert before in control.state.jobs
        log.answers.set()
        assert isinstance(answer.result(DEADLINE_S), Submitted)
        assert not control.trouble


class _Taken(MemoryLog):
    """A store that another process writes to, for a while or for good."""

    looks_left = 0

    def check(self) -> None:
        if self.looks_left:
            self.looks_left -= 1
            raise Refused("the store is in use by process 7")


def test_a_writer_whose_lock_another_holds_for_good_steps_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    monkeypatch.setattr(control_plane, "STORE_LOOK_MS", 1)
    monkeypatch.setattr(control_plane, "STEP_DOWN_MS", 20)
    log, stepped_down = _Taken(), Event()
    with _running(log, on_step_down=stepped_down.set) as control:
        job = _submit(control)
        log.looks_left = 1 << 30
        assert stepped_down.wait(DEADLINE_S)
        assert control.has_stopped
        assert "process 7" in str(control.led_by_another)
        with pytest.raises(Unavailable, match="process 7"):
            _submit(control)
        assert job in control.state.jobs


def test_a_writer_that_gets_its_lock_back_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    monkeypatch.setattr(control_plane, "STORE_LOOK_MS", 1)
    log = _Taken()
    with _running(log) as control:
        log.looks_left = 5
        _await(lambda: log.looks_left == 0 and not control.trouble)
        _submit(control)
        assert control.led_by_another is None


def _await(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < end_s, "it never came to pass"


def _retried(control: ControlPlane) -> JobId:
    """Submit until it is taken: the writer needs a moment to start again."""
    for _ in range(1_000):
        try:
            return _submit(control, a_job("again"))
        except Unavailable:
            continue
    raise AssertionError("the writer did not come back")


def test_a_broken_invariant_stops_the_writer_and_lets_people_read() -> None:
    with _running() as control:
        job = _submit(control)
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
    with _running() as control:
        woken: list[int] = []
        version = control.feed.version
        unsubscribe = control.feed.subscribe(lambda: woken.append(control.feed.version))
        job = _submit(control)
        unsubscribe()
        events = control.feed.after(version, 100)
        assert events is not None
        assert events[0][0] == version + 1
        assert isinstance(events[0][1], JobSubmitted)
        assert events[0][1].job == job
        assert woken
        assert control.feed.after(control.feed.version, 100) == ()


def test_configured_rules_are_put_in_force_once_and_do_not_undo_what_was_changed_since() -> None:
    log = MemoryLog()
    configured = Rules(teams=(a_team("nlp", guaranteed={"*": 4}),))
    changed = Rules(teams=(a_team("nlp", guaranteed={"*": 8}),))
    cluster = a_cluster(a_node("n1", gpus=8))
    configuration = Configuration(cluster=cluster, rules=configured)
    with _running(log, configuration=configuration) as control:
        assert control.state.snapshot.rules == closed(configured)
        assert control.ask(lambda engine, now_ms: engine.change_rules(changed, now_ms, by="ada")).result(DEADLINE_S)
    with _running(log, configuration=configuration) as control:
        assert control.state.snapshot.rules == closed(changed)


def test_teams_that_were_kept_without_bounds_are_denied_what_nobody_allowed_them() -> None:
    """As in a database of an earlier version, whose rules leave open what a team may ask for."""
    log, cluster = MemoryLog(), a_cluster(a_node("n1", gpus=8))
    kept = Rules(teams=(a_team("nlp"), a_team("nlp/pre"), a_team("ops", tiers=("production", "standard"))))
    log.append([RulesChanged(at_ms=0, rules=kept, by="ada")], 0)
    with _running(log, configuration=Configuration(cluster=cluster)) as control:
        teams = {team.path: team for team in control.state.snapshot.rules.teams}
    assert [teams[TeamPath(path)].tiers for path in ("nlp", "nlp/pre")] == [("standard", "exploratory")] * 2
    assert teams[TeamPath("ops")].tiers == ("production", "standard")
    assert not any(team.allow_unpreemptible for team in teams.values())


def test_turns_are_measured() -> None:
    turns: list[Turn] = []
    with _running(on_turn=turns.append) as control:
        _submit(control)
    assert any(turn.wishes == 1 for turn in turns)
    assert all(turn.write_s >= 0 and turn.plan_s >= 0 for turn in turns)


def test_what_the_backend_reported_before_anybody_listened_is_heard_at_the_start() -> None:
    log, cluster = MemoryLog(), a_cluster(a_node("n1", gpus=8))
    before = Engine(scenario=Scenario(now_ms=0, cluster=ClusterSpec()), log=log, backend=FakeBackend())
    before.change_cluster(cluster, 1)
    before.submit(a_job(), 1, job=JobId("job"))
    before.tick(1)
    control = ControlPlane(
        log=log,
        states=MemoryStates(),
        backend=_Backend(),
        clock=_Clock(),
        configuration=Configuration(cluster=cluster),
    )
    started = control.feed.version
    told = Event()
    control.feed.subscribe(told.set)
    control.start()
    assert told.wait(DEADLINE_S), "the backend had news, and nobody looked"
    control.stop()
    assert control.feed.version > started
    assert control.state.jobs[JobId("job")].state is JobState.RUNNING


class _Set:
    """A machine whose wall clock somebody sets, with a clock for a control plane on it."""

    def __init__(self, wall_ms: int) -> None:
        self.wall_ms, self.steady_ms = wall_ms, 0

    def clock(self) -> SystemClock:
        return SystemClock(wall_ns=lambda: self.wall_ms * 1_000_000, steady_ns=lambda: self.steady_ms * 1_000_000)


HOUR_MS = 3_600_000


def test_a_restart_after_the_clock_was_set_back_goes_on_where_the_log_ends() -> None:
    log, machine = MemoryLog(), _Set(10 * HOUR_MS)
    with _running(log, clock=machine.clock()) as control:
        _submit(control)
    machine.wall_ms -= HOUR_MS
    with _running(log, clock=machine.clock()) as control:
        before_ms = control.state.now_ms
        machine.steady_ms += 60_000
        job = control.state.jobs[_submit(control)]
        assert job.submitted_ms >= before_ms + 50_000


@pytest.mark.parametrize("ahead_ms", [HOUR_MS, -HOUR_MS], ids=["from the future", "from the past"])
def test_a_report_by_a_clock_that_was_set_meanwhile_neither_hurries_time_nor_comes_early(ahead_ms: int) -> None:
    log, machine, backend = MemoryLog(), _Set(10 * HOUR_MS), _Careful()
    with _running(log, clock=machine.clock(), backend=backend) as control:
        _submit(control)
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
    feed.publish([HoldsSet(at_ms=0, holds=())])
    feed.catch_up(6)
    assert feed.after(5, 10) is not None
    feed.catch_up(9)
    assert feed.version == 9
    assert feed.after(6, 10) is None
    assert feed.after(9, 10) == ()


class _Careful(_Backend):
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
    log, backend = _FullDisk(), _Careful()
    control = ControlPlane(
        log=log,
        states=MemoryStates(),
        backend=backend,
        clock=_Clock(),
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
    log = _FullDisk()
    with _running(log) as control:
        _submit(control)

        def damaged(_from_version: int = 0) -> Iterator[LogEvent]:
            raise Corrupted("a byte has changed")

        monkeypatch.setattr(log, "read", damaged)
        log.is_full = True
        with pytest.raises(Unavailable):
            _submit(control)
        _until(lambda: control.has_stopped)
        assert "a byte has changed" in control.trouble
        with pytest.raises(Unavailable, match="the writer has stopped"):
            _submit(control)
