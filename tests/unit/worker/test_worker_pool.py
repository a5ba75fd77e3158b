"""What a node knows of its workers before any process is started."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from muster.model.ids import JobId, NodeName
from muster.model.instructions import KillWorkers, StartWorkers
from muster.model.job import Worker
from muster.worker.held_starts import HeldStarts
from muster.worker.launch.launch_spec import Meeting, NodeContext
from muster.worker.loop import Loop
from muster.worker.messages import plain
from muster.worker.processes.cgroups import CgroupRoot
from muster.worker.records import register
from muster.worker.records.journal import Journal
from muster.worker.records.register import Register, Seat
from muster.worker.worker_pool import WorkerPool
from tests.unit.core.lifecycle.builders import a_spec

NODE = NodeName("n1")


def a_worker(rank: int = 0, *gpus: int) -> Worker:
    return Worker(rank=rank, role="worker", node=NODE, gpus=gpus)


def a_start(worker: Worker, *, job: str = "job-1", max_duration_ms: int | None = None) -> StartWorkers:
    return StartWorkers(
        job=JobId(job),
        attempt=1,
        generation=1,
        spec=a_spec(),
        workers=(worker,),
        gang=(worker,),
        max_duration_ms=max_duration_ms,
    )


def a_pool(folder: Path, left: Callable[[], Iterable[Seat]] = tuple) -> tuple[WorkerPool, Journal]:
    journal = Journal(folder / "journal")
    context = NodeContext(
        home=folder, workers=folder / "workers", node=NODE, cgroup_root=CgroupRoot(), processes_max=10, variables={}
    )
    return WorkerPool(context, journal, Loop(settle=lambda: None), is_away=lambda: False, left=left), journal


def test_gpus_of_what_a_predecessor_left_are_given_to_no_job(tmp_path: Path) -> None:
    seat = Seat(job=JobId("job-9"), attempt=1, rank=0, token="0" * 16, worker=plain(a_worker(0, 3)))
    pool, journal = a_pool(tmp_path, left=lambda: [seat])
    pool.obey(a_start(a_worker(0, 2, 3)), Meeting())
    (failed,) = journal.register.reports.values()
    assert failed["message"] == "GPU 3 of n1 is in use by job-9"


def test_of_an_older_attempt_only_what_is_gone_is_denied(tmp_path: Path) -> None:
    pool, journal = a_pool(tmp_path)
    for rank in (0, 1):
        journal.add("fence", "job-1", 1, 1, 0)
        journal.add("seat", "job-1", rank, f"older{rank}", [])
    journal.add("fence", "job-1", 2, 2, 0)
    journal.add("gone", "older1")
    pool.obey(KillWorkers(job=JobId("job-1"), attempt=1, generation=3, ranks=(0, 1)), Meeting())
    (denied,) = journal.register.reports.values()
    assert (denied["ranks"], denied["message"]) == ([1], "a newer attempt was heard of")


def test_a_doomed_worker_keeps_its_place_when_the_journal_is_written_anew() -> None:
    known, worker = Register(), plain(a_worker(0, 3))
    for entry in (
        ["fence", "job-1", 1, 1, 0],
        ["seat", "job-1", 0, "older", []],
        ["placed", "job-1", 0, worker],
        ["fence", "job-1", 2, 2, 0],
    ):
        known.apply(entry)
    again = Register()
    for each in known.entries():
        again.apply(each)
    assert again.doomed["older"].worker == worker


def test_a_control_plane_claims_no_more_jobs_than_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register, "SUPERVISOR_ENDED_JOBS", 20)
    pool, journal = a_pool(tmp_path)
    for number in range(100):
        job = JobId(f"job-{number}")
        pool.obey(KillWorkers(job=job, attempt=1, generation=1, ranks=(0,)), Meeting())
        journal.add("acked", journal.register.last_number)
        journal.add("seat", job, 0, job, [])
        pool._seats[job] = journal.register.gangs[job].seats[0]
        gone = {"token": job, "exit_code": 0, "is_told": False, "oom": False, "has_finished": False}
        ended: Any = SimpleNamespace(**gone, launch_spec=SimpleNamespace(folder=tmp_path))
        pool._processes[job] = ended
        pool._gone(ended)
    assert len(journal.register.gangs) <= 23
    assert pool._claimed.keys() <= journal.register.gangs.keys()


def test_what_a_start_waited_is_gone_from_its_maximum_duration(monkeypatch: pytest.MonkeyPatch) -> None:
    held, now_s = HeldStarts(), [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    for rank, limit_ms in enumerate((60_000, 5_000, None)):
        held.hold(a_start(a_worker(rank), max_duration_ms=limit_ms), a_worker(rank), Meeting())
    now_s[0] += 20
    assert [start.max_duration_ms for start, _, _ in held.take(JobId("job-1"))] == [40_000, 0, None]
    assert list(held.take(JobId("job-1"))) == []
