"""Why a worker could not be started, read from a folder that the job can write to."""

import os
from pathlib import Path

import pytest

from muster.worker.gang.companion import PROBLEM
from muster.worker.worker_reports import PROBLEM_BYTES, problem_noted


def test_what_was_written_is_told_up_to_a_limit_and_only_of_what_failed(tmp_path: Path) -> None:
    (tmp_path / PROBLEM).write_text("no such program" + "!" * 2 * PROBLEM_BYTES)
    assert problem_noted(tmp_path, 127).startswith("no such program!")
    assert len(problem_noted(tmp_path, 127)) == PROBLEM_BYTES
    assert problem_noted(tmp_path, 0) == ""


@pytest.mark.parametrize("kind", ["fifo", "link", "endless", "folder", "absent"])
def test_what_is_no_file_of_the_job_is_not_read(tmp_path: Path, kind: str) -> None:
    secret, problem = tmp_path / "secret", tmp_path / PROBLEM
    secret.write_text("of somebody else")
    match kind:
        case "fifo":
            os.mkfifo(problem)
        case "link":
            problem.symlink_to(secret)
        case "endless":
            problem.symlink_to("/dev/zero")
        case "folder":
            problem.mkdir()
        case _:
            pass
    assert problem_noted(tmp_path, 1) == ""
