import os
import time
from pathlib import Path

import pytest

from muster.backends.local import pruning
from muster.backends.local.backend import LocalBackend
from muster.backends.local.logs import read_log
from muster.backends.local.pruning import Pruning, make_room, prune
from muster.model.ids import JobId
from muster.worker.output.budget import Disk
from muster.worker.output.segments import Segments, attempt_folder, log_folder, segment_name
from muster.worker.training.metrics_file import metrics_path
from tests.local.machine import eventually

OLD_S = 1_000_000


def printed(home: Path, job: str, *, attempt: int = 1, ranks: int = 1, at_s: float, is_ended: bool = True) -> None:
    """So many workers that printed a hundred bytes each."""
    for rank in range(ranks):
        folder = log_folder(home, JobId(job), attempt, rank)
        segments = Segments(folder, segment_bytes=60)
        segments.write(b"x" * 100)
        if is_ended or rank > 0:
            segments.close()
        else:
            segments._end()
        for path in folder.iterdir():
            os.utime(path, (at_s, at_s))


def kept(home: Path) -> list[str]:
    return sorted({path.parts[-4] for path in (home / "logs").rglob("*.log")})


def test_the_oldest_output_goes_first_and_no_more_than_has_to(tmp_path: Path) -> None:
    for age, job in enumerate(("newest", "middle", "oldest")):
        printed(tmp_path, job, at_s=OLD_S - age)
    assert prune(tmp_path / "logs", 300) == 0
    assert prune(tmp_path / "logs", 250) == 100
    assert kept(tmp_path) == ["middle", "newest"]
    assert prune(tmp_path / "logs", 0) == 200
    assert kept(tmp_path) == []


def test_what_is_dropped_still_counts_as_complete(tmp_path: Path) -> None:
    printed(tmp_path, "job-1", at_s=OLD_S)
    prune(tmp_path / "logs", 0)
    left = read_log(tmp_path, JobId("job-1"), 1, 0, offset=10)
    assert (left.data, left.is_complete) == (b"", True)


def test_what_a_job_measured_of_itself_is_dropped_with_its_output(tmp_path: Path) -> None:
    printed(tmp_path, "job-1", at_s=OLD_S)
    metrics = metrics_path(tmp_path, JobId("job-1"), 1)
    metrics.write_text("{}\n" * 10)
    assert prune(tmp_path / "logs", 130) == 0
    assert prune(tmp_path / "logs", 129) == 130
    assert not metrics.exists()


def test_stacks_and_the_output_of_an_uploader_go_with_the_attempt(tmp_path: Path) -> None:
    printed(tmp_path, "job-1", at_s=OLD_S)
    folder = attempt_folder(tmp_path, JobId("job-1"), 1)
    (folder / "stacks.txt").write_text("x" * 50)
    (folder / "uploader").mkdir()
    unfinished = folder / "uploader" / segment_name(0)
    unfinished.write_text("x" * 20)
    os.utime(unfinished, (OLD_S, OLD_S))
    assert prune(tmp_path / "logs", 170) == 0
    assert prune(tmp_path / "logs", 169) == 170
    assert not unfinished.exists()


def test_output_of_a_gang_that_runs_stays_however_old_it_is(tmp_path: Path) -> None:
    printed(tmp_path, "job-1", ranks=2, at_s=OLD_S, is_ended=False)
    printed(tmp_path, "job-2", ranks=2, at_s=OLD_S)
    assert prune(tmp_path / "logs", 0) == 200
    assert kept(tmp_path) == ["job-1"]


def test_output_that_was_just_written_stays(tmp_path: Path) -> None:
    printed(tmp_path, "job-1", at_s=OLD_S)
    assert prune(tmp_path / "logs", 0, kept_s=1e12) == 0
    assert prune(tmp_path / "logs", 0, kept_s=1) == 100


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert prune(tmp_path / "logs", 0) == 0


def test_what_was_written_a_moment_ago_goes_only_when_the_disk_needs_it(tmp_path: Path) -> None:
    now_s = time.time()
    printed(tmp_path, "older", at_s=now_s - 20)
    printed(tmp_path, "newer", at_s=now_s - 10)
    assert prune(tmp_path / "logs", 0) == 0
    assert prune(tmp_path / "logs", 0, wanted_bytes=1) == 100
    assert kept(tmp_path) == ["newer"]
    assert prune(tmp_path / "logs", 0, wanted_bytes=1, least_bytes=100) == 0


def test_output_of_a_gang_that_runs_stays_also_when_the_disk_needs_it(tmp_path: Path) -> None:
    printed(tmp_path, "job-1", at_s=OLD_S, is_ended=False)
    printed(tmp_path, "job-2", at_s=OLD_S)
    assert prune(tmp_path / "logs", 0, wanted_bytes=1_000) == 100
    assert kept(tmp_path) == ["job-1"]


def test_what_was_written_before_the_clock_was_set_back_can_go_and_goes_last(tmp_path: Path) -> None:
    printed(tmp_path, "future", at_s=time.time() + 3_600)
    printed(tmp_path, "past", at_s=OLD_S)
    assert prune(tmp_path / "logs", 100) == 100
    assert kept(tmp_path) == ["future"]
    assert prune(tmp_path / "logs", 0) == 100


GIB = 1 << 30


def test_old_output_is_looked_for_at_once_and_then_once_an_hour(tmp_path: Path) -> None:
    due = Pruning(tmp_path, look=lambda _: Disk(total_bytes=100 * GIB, free_bytes=50 * GIB))
    moments = (5.0, 6.0, 3_604.0, 3_606.0, 3_610.0)
    assert [due.due(now_s) is not None for now_s in moments] == [True, False, False, True, False]


def test_a_restart_is_no_reason_to_look_again(tmp_path: Path) -> None:
    roomy = Disk(total_bytes=100 * GIB, free_bytes=50 * GIB)
    make_room(tmp_path, roomy)
    again = Pruning(tmp_path, look=lambda _: roomy)
    assert [again.due(now_s) is not None for now_s in (5.0, 3_000.0, 3_700.0)] == [False, False, True]
    nearly_full = Pruning(tmp_path, look=lambda _: Disk(total_bytes=100 * GIB, free_bytes=GIB // 2))
    assert [nearly_full.due(now_s) is not None for now_s in (5.0, 16.0)] == [False, True]


@pytest.mark.parametrize("ago_s", [3_601, -60], ids=["long ago", "before the clock was set back"])
def test_a_look_that_says_nothing_of_now_is_made_again_at_a_restart(tmp_path: Path, ago_s: float) -> None:
    roomy = Disk(total_bytes=100 * GIB, free_bytes=50 * GIB)
    make_room(tmp_path, roomy)
    os.utime(tmp_path / pruning.LOOKED, (time.time() - ago_s,) * 2)
    assert Pruning(tmp_path, look=lambda _: roomy).due(5.0) is not None


def test_it_is_looked_for_sooner_when_much_was_written_since(tmp_path: Path) -> None:
    free = [50, 50, 49, 52, 51, 50]
    due = Pruning(tmp_path, look=lambda _: Disk(total_bytes=100 * GIB, free_bytes=free.pop(0) * GIB))
    # An eighth of a tenth of the disk, counted from when the most was free.
    assert [due.due(now_s) is not None for now_s in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)] == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]


def test_it_is_looked_for_again_and_again_while_the_disk_is_nearly_full(tmp_path: Path) -> None:
    due = Pruning(tmp_path, look=lambda _: Disk(total_bytes=100 * GIB, free_bytes=GIB // 2))
    assert [due.due(now_s) is not None for now_s in (0.0, 1.0, 11.0, 12.0)] == [True, False, True, False]
    nowhere = Pruning(tmp_path, look=lambda _: None)
    assert nowhere.due(0.0) is None


def test_on_a_disk_that_is_nearly_full_enough_goes_to_leave_twice_the_floor(tmp_path: Path) -> None:
    for age in range(10):
        printed(tmp_path, f"job-{age}", at_s=time.time() - age)
    disk = Disk(total_bytes=2_000, free_bytes=50)
    assert disk.is_tight
    assert make_room(tmp_path / "logs", disk) == 200
    assert len(kept(tmp_path)) == 8
    assert make_room(tmp_path / "logs", Disk(total_bytes=20_000, free_bytes=0)) == 600  # one part in a hundred stays


def test_a_backend_makes_room_when_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed(tmp_path, "job-1", at_s=OLD_S)
    monkeypatch.setattr(pruning, "LOGS_DISK_PART", 1 << 80)
    backend = LocalBackend(tmp_path, [])
    try:
        eventually(lambda: not kept(tmp_path))
    finally:
        backend.close()
