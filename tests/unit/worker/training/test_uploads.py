"""Each job that trains on a node has one uploader, which is started again when it dies and ends after its workers."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.model.ids import JobId
from muster.model.reports import CheckpointUploaded
from muster.processes import entry
from muster.worker.loop import Loop, Timer
from muster.worker.messages import CheckpointReport
from muster.worker.processes.companions import Companions
from muster.worker.processes.marks import marks_on
from muster.worker.training import uploads as uploads_module
from muster.worker.training.training_worker import NodeReports, TrainingWorker
from muster.worker.training.uploads import Uploads
from muster.worker.training.worker_boards import WorkerBoards
from tests.unit.worker.training.builders import a_launch_spec, a_node

JOB = JobId("job-1")

STAND_IN = """
import os, signal, sys, time
def told(*_):
    os.write(1, b"finishing\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, told)
if "--until-idle" in sys.argv:
    sys.exit(print("until idle"))
print(os.environ["SECRET"], os.environ["MUSTER_RUN_ID"], os.getpriority(os.PRIO_PROCESS, 0) >= 0, flush=True)
with open(os.environ["MUSTER_CHECKPOINT_NOTICE"], "w") as pipe:
    for step in (5, 5, 6):
        pipe.write('uploaded {"step": %d}\\n' % step)
    pipe.write('shard {"step": 1, "rank": 0, "world": 1}\\n')
while True:
    time.sleep(0.05 if os.path.exists(os.environ["STAY"]) else 0)
    if not os.path.exists(os.environ["STAY"]):
        sys.exit(3)
"""


@dataclass
class _Node:
    """A node with uploaders, whose loop a test runs as long as it needs."""

    uploads: Uploads
    companions: Companions
    loop: Loop
    reported: list[CheckpointReport]
    folder: Path

    def until(self, is_so: Callable[[], object]) -> None:
        give_up_s = time.monotonic() + 20

        def look() -> None:
            for pid in self.uploads.pids:
                gone, status = os.waitpid(pid, os.WNOHANG)
                if gone:
                    self.companions.reaped(pid, status)
            if is_so() or time.monotonic() > give_up_s:
                self.loop.stop()
            else:
                self.loop.after(5, look)

        self.loop._is_stopped = False
        look()
        self.loop.run()
        assert is_so()

    def worker(self, *, attempt: int = 1, path: str = "file:///ck") -> TrainingWorker:
        folder = self.folder / f"worker-{attempt}"
        variables = {
            "SECRET": "very secret",
            "STAY": str(self.folder / "stay"),
            "MUSTER_RUN_ID": "run-1",
            "MUSTER_HOT": str(self.folder / "hot"),
            "MUSTER_NODE": "n1",
            "MUSTER_CHECKPOINT_PATH": path,
            "MUSTER_WORKER_RUN": "true",
        }
        launch_spec = a_launch_spec(folder, variables, secrets=("very secret",))
        boards = WorkerBoards(folder)
        return TrainingWorker(job=JOB, attempt=attempt, rank=0, launch_spec=launch_spec, boards=boards)

    def log(self, attempt: int = 1) -> str:
        folder = self.folder / "logs" / JOB / str(attempt) / "uploader"
        return "".join(path.read_text() for path in sorted(folder.glob("*.log")))


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Node]:
    monkeypatch.setattr(uploads_module, "PAUSE_MS", 1)
    (tmp_path / "workers").mkdir()
    (tmp_path / "stay").touch()
    loop = Loop(settle=lambda: None)
    reported: list[CheckpointReport] = []
    reports = NodeReports(report=reported.append, measure=lambda _: None, clock=lambda: 7)
    companions = Companions()
    uploads = Uploads(a_node(tmp_path), loop, reports, companions, program=(sys.executable, "-c", STAND_IN))
    found = _Node(uploads, companions, loop, reported, tmp_path)
    yield found
    uploads.end_all()
    found.until(lambda: uploads.is_empty)


def test_what_it_uploads_is_reported_and_what_it_prints_is_kept_without_secrets(node: _Node) -> None:
    node.uploads.wanted(node.worker())
    node.uploads.wanted(node.worker())
    (pid,) = node.uploads.pids
    assert marks_on(pid)
    assert os.getpriority(os.PRIO_PROCESS, pid) >= os.getpriority(os.PRIO_PROCESS, 0)
    assert (node.uploads.owns(pid), node.uploads.owns(os.getpid())) == (True, False)
    node.until(lambda: len(node.reported) == 2 and "run-1" in node.log())
    assert node.reported == [CheckpointUploaded(at_ms=7, job=JOB, attempt=1, step=step) for step in (5, 6)]
    assert "very secret" not in node.log()
    assert node.uploads.runs == {"run-1"}


def test_one_that_dies_is_started_again(node: _Node) -> None:
    node.uploads.wanted(node.worker())
    (first,) = node.uploads.pids
    os.kill(first, 9)
    node.until(lambda: node.uploads.pids and node.uploads.pids != (first,))
    assert entry(node.uploads.pids[0]) is not None


def test_one_that_keeps_dying_is_started_again_after_ever_longer_pauses(
    node: _Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    after = node.loop.after

    def sooner(delay_ms: float, happen: Callable[[], None]) -> Timer:
        if delay_ms >= 1_000:
            pauses.append(delay_ms)
        return after(min(delay_ms, 5), happen)

    monkeypatch.setattr(uploads_module, "PAUSE_MS", 1_000)
    monkeypatch.setattr(node.loop, "after", sooner)
    (node.folder / "stay").unlink()
    node.uploads.wanted(node.worker())
    node.until(lambda: len(pauses) >= 8)
    assert pauses[:8] == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]


def test_it_finishes_after_the_last_worker_has_left(node: _Node) -> None:
    over: list[str] = []
    node.uploads.ended = over.append
    node.uploads.wanted(node.worker())
    node.until(lambda: "run-1" in node.log())
    node.uploads.over(JOB)
    node.until(lambda: node.uploads.is_empty)
    assert "finishing" in node.log()
    assert over == ["run-1"]
    assert not list((node.folder / "workers").iterdir())


def test_the_next_attempt_has_another_one_after_the_one_before_has_finished(node: _Node) -> None:
    node.uploads.wanted(node.worker())
    node.until(lambda: "run-1" in node.log())
    (first,) = node.uploads.pids
    node.uploads.over(JOB)
    node.uploads.wanted(node.worker(attempt=2))
    assert node.uploads.pids == (first,)
    node.until(lambda: "run-1" in node.log(2))
    assert "finishing" in node.log(1)
    assert node.uploads.pids != (first,)


def test_a_job_without_durable_path_needs_none(node: _Node) -> None:
    node.uploads.wanted(node.worker(path=""))
    assert node.uploads.is_empty


def test_one_that_cannot_be_started_now_is_started_later(node: _Node) -> None:
    (node.folder / "workers").rmdir()
    node.uploads.wanted(node.worker())
    assert node.uploads.is_empty
    (node.folder / "workers").mkdir()
    node.until(lambda: "run-1" in node.log())


def test_one_that_does_not_finish_is_killed(node: _Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads_module, "UPLOAD_END_MS", 1)
    monkeypatch.setattr(uploads_module, "KILL_MARGIN_MS", 1)
    node.uploads._program = ("/bin/sh", "-c", "trap : TERM; echo $MUSTER_RUN_ID; while :; do sleep 0.1; done")
    node.uploads.wanted(node.worker())
    node.until(lambda: "run-1" in node.log())
    node.uploads.over(JOB)
    node.until(lambda: node.uploads.is_empty)


def test_one_that_was_told_before_it_could_listen_copies_what_is_left(node: _Node) -> None:
    over: list[str] = []
    node.uploads.ended = over.append
    node.uploads._program = ("/bin/sh", "-c", 'echo "$MUSTER_RUN_ID $*"; [ "$*" ] || sleep 60', "sh")
    node.uploads.wanted(node.worker())
    node.until(lambda: "run-1" in node.log())
    node.uploads.over(JOB)
    node.until(lambda: node.uploads.is_empty)
    assert "run-1 --until-idle" in node.log()
    assert over == ["run-1"]


def test_one_that_waits_to_be_started_again_copies_what_is_left_when_the_job_has_left(
    node: _Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads_module, "PAUSE_MS", 1_000_000)
    (node.folder / "stay").unlink()
    node.uploads.wanted(node.worker())
    node.until(lambda: node.uploads.is_empty)
    node.uploads.over(JOB)
    node.until(lambda: node.uploads.is_empty)
    assert "until idle" in node.log()
    assert node.uploads.runs == frozenset()


def test_what_could_not_be_sent_when_the_job_was_over_is_tried_again_and_its_run_is_kept(
    node: _Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads_module, "UPLOAD_TRY_PAUSE_MS", 1)
    over: list[str] = []
    node.uploads.ended = over.append
    failing = 'echo "$MUSTER_RUN_ID $*"; [ "$*" ] || sleep 60; [ -e "$STAY" ] && exit 1; exit 0'
    node.uploads._program = ("/bin/sh", "-c", failing, "sh")
    node.uploads.wanted(node.worker())
    node.until(lambda: "run-1" in node.log())
    node.uploads.over(JOB)
    node.until(lambda: node.log().count("--until-idle") >= 3)
    assert not over
    assert node.uploads.runs == {"run-1"}
    (node.folder / "stay").unlink()
    node.until(lambda: over)
    assert (over, node.uploads.runs) == (["run-1"], frozenset())


def test_what_cannot_be_sent_is_not_tried_for_ever(node: _Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads_module, "UPLOAD_TRY_PAUSE_MS", 1)
    monkeypatch.setattr(uploads_module, "UPLOAD_TRIES_MOST", 2)
    over: list[str] = []
    node.uploads.ended = over.append
    node.uploads._program = ("/bin/sh", "-c", 'echo "$MUSTER_RUN_ID $*"; [ "$*" ] || sleep 60; exit 1', "sh")
    node.uploads.wanted(node.worker())
    node.until(lambda: "run-1" in node.log())
    node.uploads.over(JOB)
    node.until(lambda: over)
    assert node.log().count("--until-idle") == 3
    assert node.uploads.runs == frozenset()
