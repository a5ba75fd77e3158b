"""Output on disk: bounded, read by offsets, and lost rather than in the way when the disk is full."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.backends.local.logs import read_log
from muster.model.ids import JobId
from muster.worker.output.segments import Segments, folder_name, log_folder, segments_in

JOB = JobId("job-1")


def segments(home: Path, *, segment_bytes: int = 10, segments_max: int = 3) -> Segments:
    return Segments(log_folder(home, JOB, 1, 0), segment_bytes=segment_bytes, segments_max=segments_max)


def text(home: Path, offset: int = 0, limit: int = 100) -> tuple[int, bytes, int]:
    part = read_log(home, JOB, 1, 0, offset=offset, limit=limit)
    return part.start, part.data, part.end


def test_output_is_cut_into_files_named_by_their_offsets(tmp_path: Path) -> None:
    log = segments(tmp_path)
    log.write(b"0123456789abc")
    log.write(b"defghijklmno")
    assert segments_in(log_folder(tmp_path, JOB, 1, 0)) == [0, 10, 20]
    assert text(tmp_path) == (0, b"0123456789abcdefghijklmno", 25)
    assert text(tmp_path, 8, 4) == (8, b"89ab", 12)
    assert text(tmp_path, -3) == (22, b"mno", 25)
    assert text(tmp_path, 25) == (25, b"", 25)
    assert text(tmp_path, 99) == (25, b"", 25)


def test_the_oldest_goes_and_offsets_stay(tmp_path: Path) -> None:
    log = segments(tmp_path)
    log.write(bytes(range(45)))
    assert segments_in(log_folder(tmp_path, JOB, 1, 0)) == [20, 30, 40]
    part = read_log(tmp_path, JOB, 1, 0, offset=5)
    assert (part.start, part.data) == (20, bytes(range(20, 45)))
    assert text(tmp_path, -100) == (20, bytes(range(20, 45)), 45)


def test_a_log_is_complete_when_its_worker_is_gone_and_all_of_it_was_read(tmp_path: Path) -> None:
    assert not read_log(tmp_path, JOB, 1, 0).is_complete
    log = segments(tmp_path)
    log.write(b"0123")
    assert not read_log(tmp_path, JOB, 1, 0).is_complete
    log.close()
    assert read_log(tmp_path, JOB, 1, 0).is_complete
    assert not read_log(tmp_path, JOB, 1, 0, limit=2).is_complete


def test_a_successor_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    segments(tmp_path).write(b"0123456789abc")
    again = segments(tmp_path)
    assert again.offset == 13
    again.write(b"def")
    assert text(tmp_path) == (0, b"0123456789abcdef", 16)


def test_a_full_disk_costs_output_and_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = segments(tmp_path, segment_bytes=1000)
    log.write(b"before")

    def full(_file: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        log.write(b"lost")
        log.write(b"lost too")
    log.write(b"after")
    assert text(tmp_path)[1].startswith(b"before\n[muster: ")
    assert text(tmp_path)[1].endswith(b"the disk was full]\nafter")


@pytest.mark.parametrize("job", ["job-1", "job-7.3", "a_B"])
def test_plain_ids_are_their_own_folders(job: str) -> None:
    assert folder_name(JobId(job)) == job


@given(st.text(min_size=1, max_size=200))
def test_no_id_leads_out_of_the_folder(job: str) -> None:
    name = folder_name(JobId(job))
    assert "/" not in name
    assert "\0" not in name
    assert name not in (".", "..")
    assert len(name.encode()) <= 255


@given(st.sets(st.text("a./%", min_size=1, max_size=4), min_size=2, max_size=6))
def test_different_ids_have_different_folders(jobs: set[str]) -> None:
    assert len({folder_name(JobId(job)) for job in jobs}) == len(jobs)
