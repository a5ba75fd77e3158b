"""What processes say about their training becomes reports, telemetry and lines of metrics."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from muster.model.ids import JobId, NodeName
from muster.model.reports import CheckpointDamaged, CheckpointUploaded, ShardsSaved
from muster.model.telemetry import RankProgress, Telemetry
from muster.train.board import CLOSED, LEAVE, LEFT, Board
from muster.worker.loop import Callback, Loop, Timer
from muster.worker.messages import BadMessage, CheckpointReport
from muster.worker.notices import BoardMade, Damaged, Measures, ShardWritten, StackTarget, Uploaded
from muster.worker.processes.companions import Companions
from muster.worker.training.metrics_file import MetricsFile, metrics_path
from muster.worker.training.node_training import NodeTraining, TrainingEnd
from muster.worker.training.report_rate import BURST, ReportRate
from muster.worker.training.training_worker import NodeReports
from tests.unit.worker.training.builders import a_launch_spec, a_node

JOB = JobId("job-1")


class _Later(Loop):
    """Keeps timers until the test lets them happen."""

    def __init__(self) -> None:
        super().__init__(settle=lambda: None)
        self.timers: list[Timer] = []

    def after(self, delay_ms: float, happen: Callback) -> Timer:
        timer = Timer(delay_ms, len(self.timers), happen)
        self.timers.append(timer)
        return timer

    def pass_time(self) -> None:
        timers, self.timers = self.timers, []
        for timer in timers:
            if not timer.is_cancelled:
                timer.happen()


@dataclass
class _Node:
    """A node with what it has reported."""

    training: NodeTraining
    loop: _Later
    folder: Path
    reported: list[CheckpointReport] = field(default_factory=list)
    measured: list[Telemetry] = field(default_factory=list)

    def begin(self, token: str = "a", *, attempt: int = 1, rank: int = 0, is_lead: bool = True) -> None:
        folder = self.folder / token
        (folder / "boards").mkdir(parents=True)
        self.training.began(token, JOB, attempt, rank, a_launch_spec(folder, is_lead=is_lead))


@pytest.fixture
def node(tmp_path: Path) -> _Node:
    loop = _Later()
    reported: list[CheckpointReport] = []
    measured: list[Telemetry] = []
    reports = NodeReports(report=reported.append, measure=measured.append, clock=lambda: 1_000_000)
    return _Node(
        NodeTraining(a_node(tmp_path), loop, reports, Companions()), loop, tmp_path / "workers", reported, measured
    )


def a_shard(rank: int, step: int = 5, **fields: int) -> ShardWritten:
    return ShardWritten(step=step, rank=rank, world=4, **fields)


def shards(step: int, *ranks: int, size: int = 0, cost_ms: int = 0, took_ms: int = 0, attempt: int = 1) -> ShardsSaved:
    return ShardsSaved(
        at_ms=1_000_000,
        job=JOB,
        attempt=attempt,
        node=NodeName("n1"),
        step=step,
        world=4,
        ranks=ranks,
        bytes=size,
        cost_ms=cost_ms,
        took_ms=took_ms,
    )


def test_parts_of_workers_of_a_node_are_reported_together(node: _Node) -> None:
    node.begin("a")
    node.begin("b", rank=1)
    node.training.noticed("b", a_shard(1, bytes=10, cost_ms=7, took_ms=30))
    node.training.noticed("a", a_shard(0, bytes=5, cost_ms=9, took_ms=20))
    node.training.noticed("a", a_shard(0, bytes=5))
    node.training.noticed("a", a_shard(0, step=6))
    assert node.reported == []
    node.loop.pass_time()
    assert node.reported == [shards(5, 0, 1, size=15, cost_ms=9, took_ms=30), shards(6, 0)]
    node.training.noticed("a", a_shard(2))
    node.loop.pass_time()
    assert node.reported[2:] == [shards(5, 2)]


def test_parts_are_reported_before_the_end_of_their_worker(node: _Node) -> None:
    node.begin("a")
    node.training.noticed("a", a_shard(0))
    node.training.ended("a", 0)
    assert node.reported == [shards(5, 0)]
    node.loop.pass_time()
    assert len(node.reported) == 1
    assert node.training.ended("a", 0) == TrainingEnd()


def test_attempts_are_told_apart(node: _Node) -> None:
    node.begin("a", attempt=1)
    node.begin("b", attempt=2)
    for token in ("a", "b"):
        node.training.noticed(token, a_shard(0))
    node.loop.pass_time()
    assert node.reported == [shards(5, 0), shards(5, 0, attempt=2)]
    assert [token for token, _ in node.training.of(JOB, 2)] == ["b"]


def test_a_job_that_makes_up_steps_is_not_believed_all_of_them(node: _Node) -> None:
    node.begin("a")
    for step in range(1_000):
        node.training.noticed("a", a_shard(0, step=step))
    node.loop.pass_time()
    assert len(node.reported) == 4


def test_a_problem_of_the_uploader_is_reported_once_while_it_lasts(node: _Node) -> None:
    node.begin("a")
    for problem in ("no route", "no route", ""):
        node.training.noticed("a", Uploaded(step=5, problem=problem))
    assert [(each.step, each.problem) for each in node.reported if isinstance(each, CheckpointUploaded)] == [
        (5, "no route"),
        (5, ""),
    ]


def test_damage_is_reported(node: _Node) -> None:
    node.begin("a")
    node.training.noticed("a", Damaged(step=5, rank=1, problem="rotten"))
    (found,) = node.reported
    assert isinstance(found, CheckpointDamaged)
    assert (found.attempt, found.step, found.rank, found.problem) == (1, 5, 1, "rotten")


def test_a_job_that_reports_damage_without_end_is_not_heard_each_time(node: _Node) -> None:
    node.begin("a")
    for step in range(1_000):
        node.training.noticed("a", Damaged(step=step, rank=1, problem="rotten"))
        node.training.noticed("a", Uploaded(step=step))
    assert BURST <= len(node.reported) < 100


def test_reports_are_allowed_again_after_a_while() -> None:
    rate = ReportRate(burst=2, per_s=0.5)
    assert [rate.allows(at_s) for at_s in (10, 10, 10, 11, 12, 13, 100, 100, 100)] == [
        True, True, False, False, True, False, True, True, False,
    ]  # fmt: skip


def test_what_is_no_announcement_is_refused(node: _Node) -> None:
    announcements = node.training.announcements
    for body in (
        {},
        {"job": JOB, "attempt": 1, "number": 1, "kind": 3},
        {"job": JOB, "attempt": 1, "number": 1, "kind": LEAVE, "step": -1},
        {"job": JOB, "attempt": 1, "number": 1, "kind": LEAVE, "step": 1 << 70},
    ):
        with pytest.raises(BadMessage):
            announcements.announce(body, lambda _: None)
    with pytest.raises(BadMessage):
        announcements.decide({"job": JOB})


def test_an_announcement_is_answered_with_the_steps_of_the_attempt(node: _Node) -> None:
    node.begin("a")
    board = Board.make(str(node.folder / "a" / "boards"), 0, 1)
    node.training.noticed("a", BoardMade(0))
    board.record(41, board.made_at_ns, 1)
    answers: list[dict[str, object]] = []
    announcements = node.training.announcements
    for attempt in (1, 2):
        body = {"job": JOB, "attempt": attempt, "number": attempt, "kind": LEAVE, "step": 50}
        announcements.announce(body, answers.append)
    node.loop.pass_time()
    gang = {"job": JOB, "number": 1, "attempt": 1}
    assert answers[0] == {"announced": {**gang, "ranks": [[0, 1, 41, board.made_at_ns % (1 << 53), False]]}}
    assert answers[1] == {"announced": {"job": JOB, "number": 2, "attempt": 2, "ranks": []}}
    announcements.decide({**gang, "attempt": 2, "kept": True})
    assert not announcements.has_agreed(JOB, 2)
    announcements.decide({**gang, "kept": True})
    assert announcements.has_agreed(JOB, 1)
    node.training.ended("a", 1)
    assert not announcements.has_agreed(JOB, 1)


def test_progress_is_measured_while_there_are_boards(node: _Node) -> None:
    node.begin("a", rank=3)
    node.training.noticed("a", BoardMade(0))
    assert not node.training.has_boards("a")
    board = Board.make(str(node.folder / "a" / "boards"), 0, 4)
    node.training.noticed("a", BoardMade(0))
    assert node.training.has_boards("a")
    board.record(9, board.made_at_ns, 1_500)
    node.loop.pass_time()
    found = node.measured[-1]
    assert isinstance(found, RankProgress)
    assert (found.rank, found.world, found.worker, found.node, found.step) == (0, 4, 3, "n1", 9)
    assert (found.steps, found.step_us) == (1, 1_500)
    assert found.step_ms <= found.at_ms == 1_000_000
    node.training.ended("a", 0)
    node.loop.pass_time()
    count = len(node.measured)
    node.loop.pass_time()
    assert len(node.measured) == count


@pytest.mark.parametrize(
    ("flags", "exit_code", "is_announced", "expected"),
    [
        (CLOSED, 0, True, TrainingEnd(has_finished=True)),
        (CLOSED, 1, True, TrainingEnd()),
        (LEFT, 0, True, TrainingEnd(has_left=True)),
        (LEFT | CLOSED, 1, True, TrainingEnd(has_left=True)),
        (LEFT, 0, False, TrainingEnd()),
        (0, 0, True, TrainingEnd()),
    ],
)
def test_how_a_training_has_ended_is_known_from_its_boards(
    node: _Node, flags: int, exit_code: int, is_announced: bool, expected: TrainingEnd
) -> None:
    node.begin("a")
    board = Board.make(str(node.folder / "a" / "boards"), 0, 1)
    node.training.noticed("a", BoardMade(0))
    if is_announced:
        body = {"job": JOB, "attempt": 1, "number": 1, "kind": LEAVE, "step": 5}
        node.training.announcements.announce(body, lambda _: None)
    board.flag(flags)
    ended = node.training.ended("a", exit_code)
    assert (ended.has_left, ended.has_finished) == (expected.has_left, expected.has_finished)


def test_how_far_a_training_was_is_known_from_its_boards_when_it_ends(node: _Node) -> None:
    node.begin("a")
    boards = [Board.make(str(node.folder / "a" / "boards"), rank, 2) for rank in (0, 1)]
    for rank, board in enumerate(boards):
        node.training.noticed("a", BoardMade(rank))
        board.record(70 + rank, time.monotonic_ns() - 5_000_000_000, 1_000)
    last_step = node.training.ended("a", 0).last_step
    assert last_step is not None
    step, step_ms = last_step
    assert step == 71
    assert 0 <= 1_000_000 - 5_000 - step_ms < 60_000


def test_who_writes_stacks_is_remembered_within_bounds(node: _Node) -> None:
    node.begin("a")
    for rank in range(100):
        node.training.noticed("a", StackTarget(rank, 1_000 + rank))
    ((_, worker),) = node.training.of(JOB)
    assert worker.stack_pids == {0: 1_000}


def test_only_the_first_worker_writes_metrics(node: _Node, tmp_path: Path) -> None:
    node.begin("a")
    node.begin("b", rank=1, is_lead=False)
    node.training.noticed("b", Measures({"step": 1, "loss": 9.0}))
    node.training.noticed("a", Measures({"step": 1, "loss": 0.5, "rate": None}))
    lines = metrics_path(tmp_path, JOB, 1).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"at_ms": 1_000_000, "step": 1, "loss": 0.5, "rate": None}]


def test_of_metrics_the_oldest_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.worker.training.metrics_file.METRICS_PAUSE_MS", 0)
    path = tmp_path / "deep" / "metrics.jsonl"
    file = MetricsFile(path, bytes_max=1_000)
    for step in range(500):
        file.add(Measures({"step": step}), step)
    file.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert 10 < len(lines) < 40
    assert [line["step"] for line in lines] == list(range(500 - len(lines), 500))
    again = MetricsFile(path, bytes_max=1_000)
    again.add(Measures({"step": 500}), 0)
    again.close()
    assert path.read_text().splitlines()[-1] == '{"at_ms":0,"step":500}'


def test_metrics_that_come_too_fast_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.worker.training.metrics_file.METRICS_PAUSE_MS", 3_600_000)
    file = MetricsFile(tmp_path / "metrics.jsonl")
    for step in range(3):
        file.add(Measures({"step": step}), step)
    file.close()
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 1


def test_metrics_that_cannot_be_written_cost_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = MetricsFile(tmp_path / "file" / "metrics.jsonl")
    file.add(Measures({"step": 1}), 1)
    file.close()
