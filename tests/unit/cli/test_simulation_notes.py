from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from muster import policies
from muster.cli.simulation import notes, simulate
from muster.cli.simulation.notes import tell_hidden, tell_replay, tell_rows, tell_skipped
from muster.model.errors import InvalidInput
from muster.model.job import JobState
from muster.model.records import evolve
from muster.model.trace import Trace
from muster.sim.outcome import JobOutcome
from tests.unit.sim import builders
from tests.unit.sim.report.made_up import a_trace_job, an_outcome, replay_of


def outcomes(*states: JobState, rejected: int = 0) -> list[JobOutcome]:
    ended = [evolve(an_outcome(a_trace_job(place)), state=state) for place, state in enumerate(states)]
    refused = evolve(an_outcome(a_trace_job(), wait_ms=None), state=JobState.FAILED)
    return ended + [refused] * rejected


def told(capsys: pytest.CaptureFixture[str], *states: JobState, rejected: int = 0, reasons: int = 1) -> list[str]:
    made = replay_of(outcomes(*states, rejected=rejected))
    tell_replay(evolve(made, rejections=tuple(f"reason {number}" for number in range(reasons))), "fifo")
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
def test_a_job_that_can_never_run_is_left_out_with_the_reason(
    rejected: int, reasons: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, JobState.SUCCEEDED, rejected=rejected, reasons=reasons) == [f"muster: fifo: {line}"]


def test_a_replay_in_which_no_job_can_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidInput, match="no job of made up can ever run on this cluster: reason 0"):
        told(capsys, rejected=2)


def test_jobs_that_did_not_finish_are_counted_without_those_that_were_cancelled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert told(capsys, JobState.SUCCEEDED, JobState.CANCELLED) == []
    assert told(capsys, JobState.SUCCEEDED, JobState.RUNNING, JobState.TIMED_OUT, JobState.TIMED_OUT) == [
        "muster: fifo: 3 of 4 jobs did not finish, and no completion time counts them",
        "muster: fifo: 2 jobs were stopped at their limits, because of stragglers",
    ]


def test_what_the_file_does_not_say_enough_about_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    tell_skipped(Trace(name="log", jobs=(), skipped=1_200))
    assert capsys.readouterr().err.startswith("muster: log: 1,200 jobs were left out: ")
    tell_skipped(Trace(name="log", jobs=(), skipped=1))
    assert "1 job was left out: the file does not say how long it ran or on how much" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gpus", "run_s", "count", "line"),
    [
        (0, 5, 1, "1 row asks for no resources: it ran at once, counted as finished, and in no figure of completion"),
        (0, 0.001, 12, "12 rows ask for no resources: they ran at once, counted as finished, and in no figure"),
        (1, 0.001, 1, "1 row has a duration of zero: the job ends as soon as it starts, and all figures count it"),
        (1, 0.001, 2, "2 rows have a duration of zero: the jobs end as soon as they start, and all figures count them"),
    ],
)
def test_rows_that_need_nothing_or_no_time_are_counted(
    gpus: int, run_s: float, count: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = builders.a_trace_job("usual")
    special = [builders.a_trace_job(str(number), run_s=run_s, gpus=gpus) for number in range(count)]
    tell_rows(Trace(name="log", jobs=(usual, *special)))
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f"muster: log: {line}")
    tell_rows(Trace(name="log", jobs=(usual,)))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("plans", "line"),
    [
        (1, "in 2 cycles 1 plan was invalid and dropped whole; what was wrong with it: a starts twice"),
        (3, "in 2 cycles 3 plans were invalid and dropped whole; what was wrong with the first: a starts twice"),
    ],
)
def test_plans_of_which_nothing_was_done_are_counted(plans: int, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = replay_of(outcomes(JobState.SUCCEEDED))
    tell_replay(evolve(made, cycles=2, dropped_plans=plans, first_drop="a starts twice"), "mine")
    assert capsys.readouterr().err == f"muster: mine: {line}\n"


def test_a_plug_in_with_the_name_of_another_policy_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added = EntryPoints([EntryPoint(name="fifo", value="mine:fifo", group=policies.PLUG_INS)])
    monkeypatch.setattr(policies, "entry_points", lambda group: added.select(group=group))
    tell_hidden([policies.find_policy("fifo"), policies.find_policy("easy")])
    line = "the plug-in mine:fifo has the name of another policy and is not used; rename it"
    assert capsys.readouterr().err == f"muster: fifo: {line}\n"


def test_no_other_module_writes_notes() -> None:
    assert "note(" not in Path(simulate.__file__).read_text("utf-8")
    assert "note(" in Path(notes.__file__).read_text("utf-8")
