from pathlib import Path

import pytest

from muster.cli import simulate, simulation_notes
from muster.cli.simulation_notes import tell_replay, tell_skipped
from muster.model.errors import InvalidInput
from muster.model.job import JobState
from muster.model.records import changed
from muster.model.trace import Trace
from muster.sim.outcome import JobOutcome
from tests.unit.sim.report.made_up import a_trace_job, an_outcome, replay_of


def outcomes(*states: JobState, rejected: int = 0) -> list[JobOutcome]:
    ended = [changed(an_outcome(a_trace_job(place)), state=state) for place, state in enumerate(states)]
    refused = changed(an_outcome(a_trace_job(), wait_ms=None), state=JobState.FAILED)
    return ended + [refused] * rejected


def told(capsys: pytest.CaptureFixture[str], *states: JobState, rejected: int = 0, reasons: int = 1) -> list[str]:
    made = replay_of(outcomes(*states, rejected=rejected))
    tell_replay(changed(made, rejections=tuple(f"reason {number}" for number in range(reasons))), "fifo")
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


@pytest.mark.parametrize(
    ("rejected", "reasons", "line"),
    [
        (1, 1, "1 job can never run on this cluster and is left out: reason 0"),
        (2, 2, "2 jobs can never run on this cluster and are left out: reason 0 (and 1 other reason)"),
        (3, 3, "3 jobs can never run on this cluster and are left out: reason 0 (and 2 other reasons)"),
    ],
)
def test_who_can_never_run_is_left_out_with_the_reason(
    rejected: int, reasons: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, JobState.SUCCEEDED, rejected=rejected, reasons=reasons) == [f"muster: fifo: {line}"]


def test_a_replay_in_which_nobody_can_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidInput, match="no job of made up can ever run on this cluster: reason 0"):
        told(capsys, rejected=2)


def test_who_did_not_finish_is_counted_without_those_who_were_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, JobState.SUCCEEDED, JobState.CANCELLED) == []
    assert told(capsys, JobState.SUCCEEDED, JobState.RUNNING, JobState.TIMED_OUT, JobState.TIMED_OUT) == [
        "muster: fifo: 3 of 4 jobs did not finish, and no completion time counts them",
        "muster: fifo: 2 jobs were stopped at their limits, because of stragglers",
    ]


def test_what_the_file_does_not_say_enough_about_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    tell_skipped(Trace(name="log", jobs=(), skipped=1_200))
    assert capsys.readouterr().err.startswith("muster: log: 1,200 jobs were left out: ")


def test_nobody_else_writes_notes() -> None:
    assert ", err=True" not in Path(simulate.__file__).read_text("utf-8")
    assert ", err=True" in Path(simulation_notes.__file__).read_text("utf-8")
