from pathlib import Path

import pytest

from muster.formats.traces import lines
from muster.model.trace import TraceJob
from tests.unit.formats.traces.builders import HEADER, only_job, refusal, trace_of


def test_four_columns_are_enough(tmp_path: Path) -> None:
    job = only_job(tmp_path, HEADER, "a,12,3.5,8")
    assert job == TraceJob(id="a", submit_ms=12_000, run_ms=3_500, gpu_milli=8_000)  # type: ignore[arg-type]
    assert (job.team, job.user, job.tier, job.priority) == ("default", "", "standard", 50)


def test_every_known_column_is_used_and_others_are_ignored(tmp_path: Path) -> None:
    header = "model,priority,tier,name,status,max_duration_s,mem_gb,cpus,gpu_type,class,user,team," + HEADER
    job = only_job(tmp_path, header, "vgg,70,gold,train,Failed,7200,1.5,0.5,v100|p100|v100,LS,ada,nlp/eval,a,0,1,0.25")
    assert (job.priority, job.tier, job.name, job.status, job.max_duration_ms) == (
        70,
        "gold",
        "train",
        "Failed",
        7_200_000,
    )
    assert (job.memory_bytes, job.cpu_milli, job.gpu_types) == (1_500_000_000, 500, ("v100", "p100"))
    assert (job.user, job.team, job.gpu_milli) == ("ada", "nlp/eval", 250)


def test_empty_cells_mean_not_known(tmp_path: Path) -> None:
    header = f"{HEADER},team,user,class,status,gpu_type,cpus,mem_gb,max_duration_s,dur_k80_s,tier,priority,name"
    assert only_job(tmp_path, header, "a,0,1,1, ,,,,,,,,,,,") == only_job(tmp_path, HEADER, "a,0,1,1")


@pytest.mark.parametrize(
    ("cells", "tier"),
    [("exploratory,", "exploratory"), ("BE,", "standard"), ("production,exploratory", "exploratory"), ("x,y", "y")],
)
def test_a_class_counts_only_if_it_names_a_usual_tier_and_none_is_given(tmp_path: Path, cells: str, tier: str) -> None:
    assert only_job(tmp_path, f"{HEADER},class,tier", f"a,0,1,1,{cells}").tier == tier


def test_durations_by_type_are_listed_by_type(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, f"{HEADER},dur_p100_s,dur_k80_s", "a,0,10,1,20.5,40", "b,0,10,1,,0", "c,0,10,1,,")
    assert [job.run_ms_by_type for job in trace.jobs] == [(("k80", 40_000), ("p100", 20_500)), (("k80", 1),), ()]


def test_jobs_are_ordered_by_submission_and_then_by_line(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, HEADER, "d,5,1,1", "c,0,1,1", "", "b,5,1,1", "a,0.001,1,1")
    assert [job.id for job in trace.jobs] == ["c", "a", "d", "b"]


def test_a_run_of_no_length_lasts_a_millisecond(tmp_path: Path) -> None:
    assert only_job(tmp_path, HEADER, "a,0,0,1").run_ms == 1


def test_a_job_without_gpus_is_kept_if_it_asks_for_something_else(tmp_path: Path) -> None:
    job = only_job(tmp_path, f"{HEADER},cpus,mem_gb", "a,0,1,0.0,4,")
    assert (job.gpu_milli, job.asks_for_nothing) == (0, False)


@pytest.mark.parametrize("row", ["a,0,1,0,0,0", "a,0,1,,,", "a,0,1,0.0,,", "a,0,1, ,0,"])
def test_a_row_may_ask_for_nothing(tmp_path: Path, row: str) -> None:
    job = only_job(tmp_path, f"{HEADER},cpus,mem_gb", row)
    assert (job.gpu_milli, job.asks_for_nothing) == (0, True)


def test_quoted_cells_may_span_lines_and_lines_are_still_counted(tmp_path: Path) -> None:
    lines = (f"{HEADER},name", 'a,0,1,1,"x,\n""y"""')
    assert only_job(tmp_path, *lines).name == 'x,\n"y"'
    assert refusal(tmp_path, *lines, "b,0,1,?,")[0].startswith("t.csv:4: gpus: must be a number, not '?'")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("a,-1,1,1", "submit_s: must be a number that is not negative, not '-1'"),
        ("a,0,-0.5,1", "duration_s: must be a number that is not negative, not '-0.5'"),
        ("a,0,soon,1", "duration_s: must be a number, not 'soon'"),
        ("a,0,nan,1", "duration_s: must be a number, not 'nan'"),
        ("a,0,1e99,1", "duration_s: '1e99' is too large (at most"),
        ("a,0,1,-1", "gpus: must be a number that is not negative, not '-1'"),
        ("a,0,1,none", "gpus: must be a number, not 'none'"),
        ("a,0,1,1.5", "gpus: '1.5' GPUs: above one, only whole GPUs can be given"),
        ("a,0,1,0.0001", "gpus: '0.0001' is too small a share (the smallest is 0.001)"),
        ("a,0,1,9999999", "gpus: '9999999' is too large (at most"),
        ("a,0,,", "duration_s: is required and was not given (leave the job out if nobody knows)"),
        ("a b,0,1,1", "job_id: 'a b' is not an id (1 to 200 characters without blanks)"),
        ("a,0,1", "has 3 cells, and there are 4 columns"),
        ("a,0,1,1,1", "has 5 cells, and there are 4 columns"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line_and_column(tmp_path: Path, row: str, expected: str) -> None:
    (error,) = refusal(tmp_path, HEADER, "ok,0,1,1", row)
    assert error.removeprefix("t.csv:3: ").startswith(expected), error


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        ("team", "a//b", "'a//b' is not the path of a team"),
        ("team", "/".join("abcdefghi"), "more than 8 levels of teams"),
        ("tier", "a b", "'a b' is not a name"),
        ("gpu_type", "v100||k80", "'' is not a name"),
        ("priority", "101", "must be a whole number from 0 to 100, not '101'"),
        ("priority", "1.5", "must be a whole number from 0 to 100"),
        ("cpus", "-4", "must be a number that is not negative"),
        ("mem_gb", "12GB", "must be a number, not '12GB'"),
        ("max_duration_s", "0", "must be above zero, not '0' (leave it empty where there is no limit)"),
        ("dur_k80_s", "x", "must be a number, not 'x'"),
    ],
)
def test_a_wrong_optional_cell_is_refused(tmp_path: Path, column: str, cell: str, expected: str) -> None:
    (error,) = refusal(tmp_path, f"{HEADER},{column}", f"a,0,1,1,{cell}")
    assert error.startswith(f"t.csv:2: {column}: {expected}"), error


def test_an_id_is_used_once(tmp_path: Path) -> None:
    assert refusal(tmp_path, HEADER, "a,0,1,1", "b,0,1,1", "a,9,1,1") == [
        "t.csv:4: job_id: the id 'a' is also in line 2 (give each job its own)"
    ]


def test_the_first_problems_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    errors = refusal(tmp_path, HEADER, *(f"{number},-1,x,1" for number in range(30)))
    assert len(errors) == 21
    assert errors[1].startswith("t.csv:2: duration_s: ")
    assert errors[-1] == "t.csv: and 40 more"


def test_missing_columns_are_named_together(tmp_path: Path) -> None:
    assert refusal(tmp_path, "job_id,submit_time,gpus", "a,0,1") == [
        (
            "t.csv:1: submit_s: there is no such column "
            "(rename 'submit_time' to submit_s, if that is what it is, in seconds)"
        ),
        "t.csv:1: duration_s: there is no such column (the columns are job_id, submit_time, gpus)",
    ]


def test_a_column_is_there_once(tmp_path: Path) -> None:
    assert refusal(tmp_path, f"{HEADER},gpus,dur_a_s,dur_a_s") == [
        f"t.csv:1: {column}: the column is there twice (keep one)" for column in ("gpus", "dur_a_s")
    ]
    assert only_job(tmp_path, f"{HEADER},note,note", "a,0,1,1,,").id == "a"


def test_a_workload_log_with_the_wrong_name_is_recognised(tmp_path: Path) -> None:
    assert "must be named .swf" in refusal(tmp_path, "; Version: 2.2", "1 2 3")[0]


def test_a_missing_quote_is_found_after_the_other_problems(tmp_path: Path) -> None:
    first, last = refusal(tmp_path, f"{HEADER},name", "a,-1,1,1,", 'b,0,1,1,"x', "c,0,1,1,")
    assert first.startswith("t.csv:2: submit_s")
    assert last.startswith("t.csv:4: not CSV: ")
    assert last.endswith("(is a quote missing?)")


def test_the_number_of_jobs_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "JOBS_PER_TRACE", 2)
    rows = [f"{number},0,1,1" for number in range(3)]
    assert len(trace_of(tmp_path, HEADER, *rows[:2]).jobs) == 2
    assert refusal(tmp_path, HEADER, *rows) == ["t.csv:4: too many jobs (at most 2 in a trace: cut it in pieces)"]


def test_a_trace_of_months_is_read(tmp_path: Path) -> None:
    rows = (f"{number},{number * 7},{number % 1000},{1 << number % 5},vc{number % 11}" for number in range(50_000))
    trace = trace_of(tmp_path, f"{HEADER},team", *rows, name="long.csv.gz")
    assert len(trace.jobs) == 50_000
    assert sum(job.gpu_milli for job in trace.jobs) == 10_000 * (1 + 2 + 4 + 8 + 16) * 1000
