"""What workers print together is bounded by job, by node, and by what is left of the disk."""

from pathlib import Path

import pytest

from muster.backends.local.logs import read_log
from muster.model.ids import JobId
from muster.model.node_limits import LOG_SEGMENT_BYTES, LOG_TAIL_BYTES, LOGS_CHECK_BYTES
from muster.worker.output import budget
from muster.worker.output.budget import Disk, OutputBudget, disk_of
from muster.worker.output.segments import Segments

MIB = 1 << 20
GIB = 1 << 30
ROOMY = Disk(total_bytes=1_000 * GIB, free_bytes=500 * GIB)


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LOG_SEGMENT_BYTES", MIB)


def a_budget(home: Path, disk: Disk = ROOMY, *, job_bytes: int = 100 * MIB, nodes: int = 1) -> OutputBudget:
    for number in range(nodes):
        (home / "nodes" / f"n{number}").mkdir(parents=True)
    return OutputBudget(home, job_bytes=job_bytes, look=lambda _: disk)


def write(row: Segments, amount: int) -> None:
    for _ in range(amount // (64 << 10)):
        row.write(b"x" * (64 << 10))


def text(home: Path, job: str, rank: int = 0) -> bytes:
    """Everything that is kept."""
    found, at = b"", 0
    while (part := read_log(home, JobId(job), 1, rank, offset=at)).data:
        found, at = found + part.data, part.end
    return found


def test_the_workers_of_one_job_keep_no_more_than_a_job_may(tmp_path: Path) -> None:
    budget = a_budget(tmp_path, job_bytes=8 * MIB)
    rows = [budget.segments(JobId("job-1"), 1, rank) for rank in range(3)]
    other = budget.segments(JobId("job-2"), 1, 0)
    write(other, 7 * MIB)
    write(rows[0], 2 * MIB)
    write(rows[1], 20 * MIB)
    assert sum(row.kept_bytes for row in rows) <= 8 * MIB + LOGS_CHECK_BYTES
    assert rows[0].kept_bytes == 2 * MIB  # the noisiest pays
    assert other.kept_bytes == 7 * MIB
    assert rows[1].offset > 20 * MIB
    assert read_log(tmp_path, JobId("job-1"), 1, 1).start > 10 * MIB


def test_what_is_kept_of_a_log_says_once_that_older_output_was_dropped(tmp_path: Path) -> None:
    budget = a_budget(tmp_path, job_bytes=3 * MIB)
    row = budget.segments(JobId("job-1"), 1, 0)
    write(row, 2 * MIB)
    assert b"[muster" not in text(tmp_path, "job-1")
    for _ in range(10):
        write(row, MIB)
    assert text(tmp_path, "job-1").count(b"this job printed more") == 1


@pytest.mark.parametrize(("nodes", "bound"), [(1, 10 * MIB), (2, 5 * MIB)])
def test_a_node_keeps_its_part_of_what_all_output_may_take(tmp_path: Path, nodes: int, bound: int) -> None:
    disk = Disk(total_bytes=100 * MIB, free_bytes=90 * MIB)
    budget = a_budget(tmp_path, disk, nodes=nodes)
    rows = [budget.segments(JobId(f"job-{number}"), 1, 0) for number in range(4)]
    for _ in range(5):
        for row in rows:
            write(row, MIB)
    assert bound - 3 * MIB <= sum(row.kept_bytes for row in rows) <= bound + LOGS_CHECK_BYTES
    assert b"the workers of this node" in text(tmp_path, "job-0")


def test_on_a_disk_that_is_nearly_full_only_tails_are_kept(tmp_path: Path) -> None:
    disk = [ROOMY]
    budget = OutputBudget(tmp_path, look=lambda _: disk[0])
    rows = [budget.segments(JobId(f"job-{number}"), 1, 0) for number in range(2)]
    for row in rows:
        write(row, 5 * MIB)
    assert all(row.kept_bytes == 5 * MIB for row in rows)
    disk[0] = Disk(total_bytes=1_000 * GIB, free_bytes=0)
    write(rows[0], 20 * MIB)
    # What was printed since the last look, and a file before it.
    assert rows[0].kept_bytes <= LOGS_CHECK_BYTES + 2 * LOG_TAIL_BYTES
    assert rows[1].kept_bytes <= MIB + LOG_TAIL_BYTES
    assert b"the disk is nearly full" in text(tmp_path, "job-1")
    disk[0] = ROOMY
    write(rows[0], 5 * MIB)
    assert rows[0].kept_bytes >= 4 * MIB


def test_a_worker_that_has_ended_does_not_count(tmp_path: Path) -> None:
    budget = a_budget(tmp_path, job_bytes=4 * MIB)
    ended, row = (budget.segments(JobId("job-1"), 1, rank) for rank in range(2))
    write(ended, 3 * MIB)
    ended.close()
    write(row, 3 * MIB)
    assert (ended.kept_bytes, row.kept_bytes) == (3 * MIB, 3 * MIB)


def test_a_folder_that_is_not_there_yet_is_no_reason_to_drop_anything(tmp_path: Path) -> None:
    assert disk_of(tmp_path / "nowhere") is None
    found = disk_of(tmp_path)
    assert found is not None
    assert 0 < found.free_bytes <= found.total_bytes
    budget = OutputBudget(tmp_path, look=lambda _: None)
    row = budget.segments(JobId("job-1"), 1, 0)
    write(row, 3 * MIB)
    assert row.kept_bytes == 3 * MIB
    assert LOG_SEGMENT_BYTES > MIB
