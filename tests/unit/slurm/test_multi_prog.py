"""Which program each task of `srun --multi-prog` runs."""

import pytest

from muster.slurm.steps.multi_prog import BadProgramFile, programs


def test_lines_name_tasks_ranges_and_all_others() -> None:
    text = (
        "# a comment\n\n0 ./server 'a b' \\\n  --port 7\n1-2,4 ./worker %t %o\n* sleep %o%t # for the rest\n1 ignored\n"
    )
    assert programs(text, 6) == {
        0: ["./server", "a b", "--port", "7"],
        1: ["./worker", "1", "0"],
        2: ["./worker", "2", "1"],
        4: ["./worker", "4", "2"],
        3: ["sleep", "03"],
        5: ["sleep", "15"],
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0 true", "no record for task id 1"),
        ("0-1", "no program for task 0-1"),
        ("0-2 true", "task 2 is beyond the last of 2 tasks"),
        ("one true", "'one' is no task"),
        ("0- true", "'0-' is no task"),
        ("0-1 'true", "No closing quotation"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(BadProgramFile, match=problem):
        programs(text, 2)
