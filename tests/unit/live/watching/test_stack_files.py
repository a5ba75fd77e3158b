"""Stacks are kept beside what workers printed, and are bounded."""

from pathlib import Path

from muster.live.watching.stack_files import FILE_BYTES, STACK_CHARS, StackFiles, stacks_in, stacks_text
from muster.model.ids import JobId

JOB = JobId("job-1")
STACKS = {0: "Thread 1\n  File train.py, line 7", 11: "", 2: "ünïcode"}


def test_what_was_kept_can_be_read(tmp_path: Path) -> None:
    files = StackFiles(tmp_path)
    assert files.read(JOB, 2) == {}
    assert files.keep(JOB, 2, STACKS) == "stacks.txt"
    assert files.read(JOB, 2) == STACKS
    assert files.read(JOB, 1) == {}
    assert (tmp_path / "logs" / "job-1" / "2" / "stacks.txt").stat().st_mode & 0o777 == 0o600


def test_the_newest_stacks_replace_older_ones(tmp_path: Path) -> None:
    files = StackFiles(tmp_path)
    files.keep(JOB, 2, STACKS)
    files.keep(JOB, 2, {0: "elsewhere"})
    assert files.read(JOB, 2) == {0: "elsewhere"}


def test_a_job_with_a_strange_name_stays_inside(tmp_path: Path) -> None:
    files = StackFiles(tmp_path)
    files.keep(JobId("../../x"), 1, STACKS)
    assert [each.name for each in tmp_path.iterdir()] == ["logs"]


def test_long_stacks_are_cut() -> None:
    text = stacks_text(dict.fromkeys(range(1000), "x" * 2 * STACK_CHARS))
    assert len(text) <= FILE_BYTES
    kept = stacks_in(text)
    assert len(kept[0]) == STACK_CHARS
    assert list(kept) == list(range(len(kept)))
