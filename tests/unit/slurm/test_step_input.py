import os
from typing import Any

import pytest

from muster.formats.sbatch.options import SRUN, read_options
from muster.slurm.srun_job import reads_here
from muster.slurm.steps.step_input import PIECE_BYTES, WINDOW_BYTES, StepInput, StepReaders


@pytest.mark.parametrize(
    ("option", "readers", "file"),
    [("all", [0, 1, 2], ""), ("none", [], ""), ("1", [1], ""), ("in-%t.txt", [], "in-%t.txt")],
)
def test_who_reads_what(option: str, readers: list[int], file: str) -> None:
    said = StepReaders(option=option)
    assert ([task for task in range(3) if said.has(task)], said.file) == (readers, file)


def test_no_more_is_read_than_the_slowest_worker_takes() -> None:
    reading, writing = os.pipe()
    sent: list[dict[str, Any]] = []
    step = StepInput(reading, lambda **message: sent.append(message))
    while step.has_room({0, 1}):
        os.write(writing, b"x" * PIECE_BYTES)
        step.read(bytes.decode)
    assert len(sent) == WINDOW_BYTES // PIECE_BYTES
    step.taken(0, WINDOW_BYTES)
    assert not step.has_room({0, 1})
    assert step.has_room({0})  # the other has lost its tasks
    step.taken(1, PIECE_BYTES)
    assert step.has_room({0, 1})
    os.close(writing)
    step.read(bytes.decode)
    assert (sent[-1], step.is_over) == ({"input_over": True}, True)


@pytest.mark.parametrize(
    ("words", "is_read"),
    [("cat", True), ("--input=all cat", True), ("--input=2 cat", True), ("-i none cat", False), ("-i file cat", False)],
)
def test_an_srun_that_is_a_job_passes_on_what_its_tasks_read(words: str, is_read: bool) -> None:
    assert reads_here(read_options(words.split(), SRUN)[0]) is is_read
