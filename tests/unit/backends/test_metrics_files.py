"""Reading what trainings measured of themselves, whatever a job wrote there."""

from pathlib import Path

from muster.backends.local.training.metrics_files import measured_steps
from muster.model.ids import JobId
from muster.model.node_limits import MEASURES_SENT
from muster.worker.training.metrics_file import metrics_path

JOB = JobId("job-1")


def write(home: Path, attempt: int, *lines: str) -> None:
    path = metrics_path(home, JOB, attempt)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def test_steps_of_all_attempts_are_read_in_order(tmp_path: Path) -> None:
    write(tmp_path, 1, '{"at_ms": 5, "step": 1, "loss": 3}', '{"at_ms": 6, "step": 2, "loss": 2.5}')
    write(tmp_path, 3, '{"at_ms": 9, "step": 2, "loss": 2}')
    found = measured_steps(tmp_path, JOB, 3)
    assert [(each.attempt, each.step, each.values["loss"]) for each in found] == [(1, 1, 3), (1, 2, 2.5), (3, 2, 2)]
    assert measured_steps(tmp_path, JobId("job-2"), 3) == ()


def test_lines_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    write(
        tmp_path,
        1,
        "{",
        "[]",
        '{"step": 1}',
        '{"at_ms": 5, "step": "x"}',
        '{"at_ms": 5, "step": 7, "loss": NaN, "ok": true, "note": "x", "rate": 1}',
    )
    [step] = measured_steps(tmp_path, JOB, 1)
    assert (step.step, step.values) == (7, {"rate": 1.0})


def test_a_loss_that_is_no_number_any_more_is_named(tmp_path: Path) -> None:
    write(tmp_path, 1, '{"at_ms": 5, "step": 7, "loss": null, "rate": 1, "note": "x", "norm": Infinity}')
    [step] = measured_steps(tmp_path, JOB, 1)
    assert step.no_numbers == ("loss", "norm")


def test_of_very_many_an_even_selection_is_read_with_the_last(tmp_path: Path) -> None:
    write(tmp_path, 1, *(f'{{"at_ms": 1, "step": {step}, "loss": 1}}' for step in range(3 * MEASURES_SENT)))
    found = [each.step for each in measured_steps(tmp_path, JOB, 1)]
    assert len(found) == MEASURES_SENT
    assert found[-1] == 3 * MEASURES_SENT - 1
    assert found[1] - found[0] == 3
