from pathlib import Path

import pytest

from muster.slurm.steps.step_output import OutputRefused, StepOutput


def test_a_file_that_cannot_be_made_is_said_as_slurm_says_it(tmp_path: Path) -> None:
    def prints(name: str) -> None:
        output = StepOutput(
            output=name, error="", append=False, label=False, unbuffered=False, tasks=1, folder=str(tmp_path)
        )
        output.take(0, 1, b"hello\n", {})

    prints("there.out")
    assert (tmp_path / "there.out").read_text() == "hello\n"
    with pytest.raises(OutputRefused, match=r"Could not open stdout file .*/no/there\.out: No such file or directory"):
        prints("no/there.out")
