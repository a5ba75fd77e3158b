from pathlib import Path
from typing import Any

from muster.formats.traces.trace_swf import FIELDS
from muster.model.trace import TraceJob
from tests.unit.formats.traces.builders import only_job, refusal, trace_of

NAME = "log.swf"


def a_line(**fields: Any) -> str:
    known = {"job": 1, "submit": 0, "run_time": 60, "requested_processors": 4, **fields}
    return " ".join(str(known.get(name, -1)) for name in FIELDS)


def test_fields_are_mapped(tmp_path: Path) -> None:
    line = a_line(
        job=7,
        submit=10,
        wait=3,
        used_processors=6,
        requested_time=3600,
        status=1,
        user=12,
        group=0,
        executable=5,
        queue=9,
    )
    assert only_job(tmp_path, "; Version: 2.2", "", f"   {line}", ";end", name=NAME) == TraceJob(
        id="7",  # type: ignore[arg-type]
        submit_ms=10_000,
        run_ms=60_000,
        gpu_milli=4_000,
        team="g0",  # type: ignore[arg-type]
        user="u12",
        name="app-5",
        max_duration_ms=3_600_000,
        status="completed",
    )


def test_what_is_not_known_is_left_at_its_default(tmp_path: Path) -> None:
    job = only_job(tmp_path, a_line(), name=NAME)
    assert (job.team, job.user, job.name, job.max_duration_ms, job.status) == ("default", "", "", None, "")


def test_processors_used_stand_in_for_those_requested(tmp_path: Path) -> None:
    assert only_job(tmp_path, a_line(requested_processors=-1, used_processors=2), name=NAME).gpu_milli == 2_000


def test_jobs_that_cannot_be_replayed_are_counted(tmp_path: Path) -> None:
    lines = [a_line(job=1, run_time=-1), a_line(job=2, requested_processors=-1), a_line(job=3, run_time=0)]
    trace = trace_of(tmp_path, *lines, name="log.swf.gz")
    assert trace.name == "log"
    assert [(job.id, job.run_ms) for job in trace.jobs] == [("3", 1)]
    assert trace.skipped == 2


def test_a_job_with_no_processors_asks_for_nothing(tmp_path: Path) -> None:
    lines = [
        a_line(job=1, requested_processors=0),
        a_line(job=2, requested_processors=-1, used_processors=0),
        a_line(job=3, requested_processors=0, used_processors=2),
    ]
    trace = trace_of(tmp_path, *lines, name=NAME)
    assert [(job.gpu_milli, job.asks_for_nothing) for job in trace.jobs] == [(0, True), (0, True), (2_000, False)]
    assert trace.skipped == 0


def test_parts_of_a_job_between_checkpoints_are_no_jobs(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, a_line(status=1), *(a_line(status=part, run_time=20) for part in (2, 2, 3)), name=NAME)
    assert [job.run_ms for job in trace.jobs] == [60_000]
    assert trace.skipped == 0


def test_jobs_are_ordered_by_submission(tmp_path: Path) -> None:
    lines = [a_line(job=number, submit=submit) for number, submit in ((1, 5), (2, 0), (3, "0.5"), (4, 5))]
    trace = trace_of(tmp_path, *lines, name=NAME)
    assert [(job.id, job.submit_ms) for job in trace.jobs] == [("2", 0), ("3", 500), ("1", 5_000), ("4", 5_000)]


def test_every_mistake_is_named_with_its_line_and_field(tmp_path: Path) -> None:
    lines = [
        "; comment",
        a_line(),
        "1 2 3",
        a_line(job=2, submit=-5),
        a_line(job=3, run_time="1h", user="ada"),
        a_line(job=4, requested_processors=99_999_999),
        a_line(job=1),
    ]
    assert refusal(tmp_path, *lines, name=NAME) == [
        "log.swf:3: has 3 fields, and a job has 18 (write -1 for what is not known)",
        "log.swf:4: submit: must be a number that is not negative, not '-5'",
        "log.swf:5: run_time: must be a number, not '1h' (write -1 for what is not known)",
        "log.swf:5: user: must be a number, not 'ada' (write -1 for what is not known)",
        "log.swf:6: requested_processors: 99999999 processors are too many (at most 4194304)",
        "log.swf:7: job: the id '1' is also in line 2 (give each job its own)",
    ]
