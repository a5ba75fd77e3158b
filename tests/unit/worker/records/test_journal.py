"""What was written down is known again, whatever happened in between."""

import errno
import os
import time
from pathlib import Path

import pytest

from muster.model.ids import JobId
from muster.model.node_limits import SHARD_REPORTS_KEPT, SUPERVISOR_ENDED_JOBS
from muster.worker.records.journal import RETRY_MS, Journal
from muster.worker.records.register import Register

JOB = JobId("job-1")


def an_exit(rank: int = 0, *, job: str = JOB, attempt: int = 1) -> dict[str, object]:
    return {"type": "WorkersExited", "job": job, "attempt": attempt, "ranks": [rank], "exit_code": 0}


def an_eventful_life(journal: Journal) -> None:
    journal.add("boot", "b1")
    journal.add("fence", JOB, 1, 1, 20_000)
    for rank in (0, 1):
        journal.add("seat", JOB, rank, f"token{rank}", ["/group"])
        journal.add("alive", JOB, rank, 100 + rank, 5)
    journal.add("told", JOB, 1)
    journal.add("report", 1, {"type": "WorkersStarted", "job": JOB, "attempt": 1, "ranks": [0]})
    journal.add("report", 2, an_exit(), synced=True)
    journal.add("acked", 1)
    journal.add("fence", "job-2", 1, 7, 0)
    journal.add("seat", "job-2", 0, "older", [])
    journal.add("alive", "job-2", 0, 300, 6)
    journal.add("fence", "job-2", 2, 8, 0)
    journal.add("seat", "job-2", 0, "newer", [])
    journal.add("from a newer version", 1, 2, 3)


def contents(register: Register) -> list[object]:
    return list(register.entries())


def test_a_register_is_told_again_by_its_entries(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    an_eventful_life(journal)
    journal.close()
    again = Journal(tmp_path / "journal").register
    assert contents(again) == contents(journal.register)
    gang = again.gangs[JOB]
    assert (gang.generation, gang.port, gang.seats[0].end) == (1, 20_000, an_exit())
    assert (gang.seats[1].is_told, gang.seats[1].pid, gang.seats[1].folders) == (True, 101, ("/group",))
    assert list(again.doomed) == ["older"]
    assert (list(again.reports), again.last_number) == ([2], 2)


def test_a_line_that_was_cut_off_is_as_if_it_had_not_been_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    an_eventful_life(journal)
    journal.close()
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes() + b'["fence","job-9",1,')
    assert contents(Journal(path).register) == contents(journal.register)


def test_a_journal_that_has_grown_is_written_anew(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", grown_bytes=1000)
    journal.add("fence", JOB, 1, 1, 0)
    for number in range(1, 200):
        journal.add("report", number, an_exit())
        journal.add("acked", number)
        journal.flush()
    assert (tmp_path / "journal").stat().st_size < 2000
    again = Journal(tmp_path / "journal").register
    assert again.last_number == 199
    assert not again.reports


def test_a_full_disk_makes_it_stale_until_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "journal")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        patched.setattr(os, "fsync", full)
        an_eventful_life(journal)
        journal.flush()
        seen = [journal.is_stale]
        journal.flush(at_once=True)
        seen.append(journal.is_stale)
    journal.flush(at_once=True)
    assert [*seen, journal.is_stale] == [True, True, False]
    assert contents(Journal(tmp_path / "journal").register) == contents(journal.register)


def no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_trying_again_on_a_full_disk_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    journal = Journal(tmp_path / "journal", grown_bytes=0)
    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(os, call, no_room)
        for number in range(1, 50):
            journal.add("report", number, an_exit())
            journal.flush(at_once=True)
        assert journal.is_stale
        assert len(os.listdir("/proc/self/fd")) <= before
    journal.flush(at_once=True)
    assert len(Journal(tmp_path / "journal").register.reports) == 49


def test_a_stale_journal_is_tried_again_after_a_while_and_at_once_for_what_cannot_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal", grown_bytes=0)
    tries: list[None] = []
    now_s = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    with monkeypatch.context() as patched:

        def counted(*_: object) -> None:
            tries.append(None)
            no_room()

        patched.setattr(os, "replace", counted)
        for number in range(1, 20):
            journal.add("report", number, an_exit())
            journal.flush()
        assert len(tries) == 1
        now_s[0] += RETRY_MS / 1000
        journal.flush()
        journal.flush()
        assert len(tries) == 2
    journal.flush()
    assert journal.is_stale
    journal.flush(at_once=True)
    assert not journal.is_stale


def test_ended_jobs_are_forgotten_in_the_end_and_those_with_something_unsaid_are_not() -> None:
    register = Register()
    for number in range(2 * SUPERVISOR_ENDED_JOBS):
        job = f"job-{number}"
        register.apply(["fence", job, 1, 1, 0])
        register.apply(["seat", job, 0, job, []])
        if number != 1:
            register.apply(["report", number + 1, an_exit(job=job)])
    register.apply(["acked", SUPERVISOR_ENDED_JOBS])
    forgotten = register.forgettable()
    assert forgotten[:2] == ["job-0", "job-2"]
    assert len(forgotten) <= SUPERVISOR_ENDED_JOBS
    assert not register.reports.keys() & {int(job.split("-")[1]) + 1 for job in forgotten}


@pytest.mark.parametrize("damage", [b"\xff\xfe{", b'["report", 9, {}]', b"{", b"", b"7", b'["fence", [], 1, 1, 1]'])
def test_a_damaged_line_is_left_out_and_the_rest_is_known(tmp_path: Path, damage: bytes) -> None:
    journal = Journal(tmp_path / "journal")
    an_eventful_life(journal)
    journal.close()
    path = tmp_path / "journal"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:3], damage, *lines[3:]]))
    again = Journal(path)
    assert again.unreadable == (() if damage == b"7" else (4,))  # A newer version may write a number.
    assert contents(again.register) == contents(journal.register)
    assert Journal(path).unreadable == ()


def test_a_worker_whose_gang_was_lost_with_a_damaged_line_is_still_ended(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    an_eventful_life(journal)
    journal.close()
    path = tmp_path / "journal"
    damaged = [b"?" if line.startswith(b'["fence","job-1"') else line for line in path.read_bytes().split(b"\n")]
    path.write_bytes(b"\n".join(damaged))
    assert set(Journal(path).register.doomed) == {"token0", "token1", "older"}


def shards(step: int, *ranks: int, attempt: int = 1) -> dict[str, object]:
    return {"type": "ShardsSaved", "job": JOB, "attempt": attempt, "step": step, "world": 8, "ranks": list(ranks)}


def test_of_parts_of_checkpoints_those_of_the_newest_saves_are_kept_while_nobody_listens() -> None:
    known = Register()
    known.apply(["report", 1, shards(10, 0, attempt=2)])
    known.apply(["report", 2, {"type": "CheckpointUploaded", "job": JOB, "attempt": 1, "step": 10}])
    number = 2
    for step in range(100, 400):
        for rank in range(4):
            number += 1
            known.apply(["report", number, shards(step, rank)])
    kept = [(body["step"], body.get("ranks")) for body in known.reports.values()]
    assert kept == [(10, [0]), (10, None), *((step, [rank]) for step in range(396, 400) for rank in range(4))]
    assert known.last_number == number


def test_a_save_after_a_restart_inside_of_an_attempt_is_newer_though_its_step_is_lower() -> None:
    known = Register()
    for number, step in enumerate((100, 110, 120, 130, 105), start=1):
        known.apply(["report", number, shards(step, 0)])
    assert [body["step"] for body in known.reports.values()] == [110, 120, 130, 105]


def test_a_job_that_reports_one_part_without_end_fills_no_disk() -> None:
    known = Register()
    for number in range(1, 1_000):
        known.apply(["report", number, shards(7, number % 8)])
    assert len(known.reports) == SHARD_REPORTS_KEPT
