import os
from pathlib import Path

import pytest

from muster.backends.local import LocalBackend, pruning
from muster.backends.local.logs import read_log
from muster.backends.local.pruning import prune
from muster.model.ids import JobId
from muster.worker.segments import Segments, log_folder
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


def test_output_of_a_gang_that_runs_stays_however_old_it_is(tmp_path: Path) -> None:
    printed(tmp_path, "job-1", ranks=2, at_s=OLD_S, is_ended=False)
    assert prune(tmp_path / "logs", 0) == 0


def test_output_that_was_just_written_stays(tmp_path: Path) -> None:
    printed(tmp_path, "job-1", at_s=OLD_S)
    assert prune(tmp_path / "logs", 0, kept_s=1e12) == 0


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert prune(tmp_path / "logs", 0) == 0


def test_a_backend_makes_room_when_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed(tmp_path, "job-1", at_s=OLD_S)
    monkeypatch.setattr(pruning, "LOGS_DISK_PART", 1 << 80)
    backend = LocalBackend(tmp_path, [])
    try:
        eventually(lambda: not kept(tmp_path))
    finally:
        backend.close()
