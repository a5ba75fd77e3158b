"""sacct shows jobs with their steps, for people and for programs."""

import json

import pytest

from muster.slurm import asking, sacct
from tests.unit.client.fake_server import Json
from tests.unit.slurm.conftest import OPEN, SlurmUser, a_step, gives_steps


def test_the_usual_table_is_that_of_slurm(user: SlurmUser) -> None:
    assert user.reads("sacct -j 12,9") == [
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
        "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
        "9                 later       main        nlp          0    PENDING      0:0 ",
        "12                  bad       main        nlp          1     FAILED      3:0 ",
        "12.batch          batch                   nlp          1     FAILED      3:0 ",
        "12.extern        extern                   nlp          1  COMPLETED      0:0 ",
    ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("sacct -j 11 -X -n -P -o State,ExitCode,Elapsed,ElapsedRaw", ["OUT_OF_MEMORY|0:125|00:01:00|60"]),
        ("sacct -j 13 -X -n -P -o State,ExitCode,Reason", ["TIMEOUT|0:15|TimeLimit"]),
        ("sacct -j 14 -X -n -P -o State", ["CANCELLED"]),
        ("sacct -j 7 -X -n -p -o JobID,AllocTRES,NNodes", ["7|cpu=128,mem=1T,node=2,billing=128,gres/gpu=16|2|"]),
        ("sacct -j 7.batch -n -P -o JobID,JobName,NTasks,MaxRSS", ["7.batch|batch|1|"]),
        ("sacct -j 7.0 --format=Reason --noheader", []),
        ("sacct -j 99 -n", []),
        ("sacct -j 10 -X -n -P -o JobID,State", ["10_0|COMPLETED", "10_1|RUNNING", "10_[2-4%2]|PENDING"]),
        ("sacct -j 10_3 -X -n -P -o JobID --array", ["10_3"]),
        ("sacct -j 10 -X -n -P -o jobidraw --array -s PD", ["268440578", "268440579", "268440580"]),
        ("sacct -j 268440579 -X -n -P -o JobID", ["10_3"]),
        ("sacct -n -X -P -o JobID -u bob", ["8"]),
        ("sacct -n -X -P -o JobID -S 11:30 -s F,TO", ["12", "13"]),
        ("sacct -n -X -P -o JobID -S now-1hours -s CD", ["10_0"]),
        ("sacct -n -X -P -o JobID -S 2026-03-02 -s COMPLETED", ["2", "10_0"]),
        ("sacct -n -X -P -o JobID -S 2026-03-02T08:00 -E 2026-03-02T08:30", []),
        ("sacct -n -j 7 -X -o JobID%5,State%-12", ["7     RUNNING      "]),
        ("sacct -n -j 7 -X --delimiter=, -P -o Submit,Start,End", ["2026-03-02T09:00:00,2026-03-02T09:10:00,Unknown"]),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_shown(user: SlurmUser, line: str, shown: list[str]) -> None:
    assert user.reads(line) == shown


def test_the_nodes_of_a_job_that_has_ended_are_those_of_its_last_start(user: SlurmUser) -> None:
    workers = [{"rank": 0, "role": "worker", "node": "n4", "gpus": [], "share": None}]
    started: Json = {"version": 3, "at": "2026-03-02T11:58:00Z", "kind": "job_started", "attempt": 1}
    user.server.events = [{**started, "job": "job-12", "team": "nlp", "user": "ada", "by": None, "workers": workers}]
    assert user.reads("sacct -j 12 -n -X -o nodelist%-256")[0].strip() == "n4"


def test_a_field_that_does_not_exist_is_an_error(user: SlurmUser) -> None:
    typed = user.types("sacct", "-o", "JobID,Nope")
    assert (typed.code, typed.err) == (1, 'sacct: error: Invalid field requested: "Nope"\n')


def test_json_has_steps_inside_their_jobs(user: SlurmUser) -> None:
    job = json.loads(user.types("sacct", "--json", "-j", "12").out)["jobs"][0]
    assert (job["job_id"], job["state"]["current"], job["exit_code"]) == (
        12,
        "FAILED",
        {"status": "ERROR", "return_code": 3},
    )
    assert [step["step"]["name"] for step in job["steps"]] == ["batch", "extern"]


STEP_FORMAT = "JobID,JobName,NTasks,AllocCPUS,State,ExitCode,Elapsed,NodeList,MaxRSS,MaxRSSNode,TotalCPU,AveCPU"


def test_every_step_has_a_line_with_what_is_known_of_it(user: SlurmUser) -> None:
    batch = a_step("batch", name="batch", tasks=1, cpus=64, gpus=8, nodes=["n1"], **OPEN)
    gives_steps(user, "job-7", batch, a_step("0"), a_step("1", name="sleep", nodes=["n2"], **OPEN))
    assert user.reads(f"sacct -j 7 -n -P -o {STEP_FORMAT}") == [
        "7|llama-pretrain||128|RUNNING|0:0|02:50:00|n[1-2]|||00:00:00|",
        "7.batch|batch|1|64|RUNNING|0:0|00:02:00|n1|||00:00:00|",
        "7.extern|extern|2|128|RUNNING|0:0|02:50:00|n[1-2]|||00:00:00|",
        "7.0|python|4|8|COMPLETED|0:0|00:01:00|n[1-2]|3072K|n2|01:30.500|00:00:22",
        "7.1|sleep|4|8|RUNNING|0:0|00:02:00|n2|||00:00:00|",
    ]
    assert user.reads("sacct -j 7.0 -n -P -o JobID,AllocTRES") == ["7.0|cpu=8,mem=1T,node=2,gres/gpu=2"]
    assert user.reads("sacct -j 7.1,12 -n -P -o JobID") == ["7.1", "12", "12.batch", "12.extern"]
    assert user.reads("sacct -j 7 -X -n -P -o JobID") == ["7"]
    steps = json.loads(user.types("sacct", "--json", "-j", "7").out)["jobs"][0]["steps"]
    assert [step["step"]["id"] for step in steps] == ["7.batch", "7.extern", "7.0", "7.1"]
    assert (steps[2]["tasks"], steps[2]["statistics"]["MaxRSS"]) == ({"count": 4}, "3072K")


@pytest.mark.parametrize(
    ("job", "changes", "shown"),
    [
        ("12", {"exit_code": 3}, "FAILED|3:0"),
        ("12", {"exit_code": 137}, "FAILED|0:9"),
        ("12", {"exit_code": 0}, "COMPLETED|0:0"),
        ("12", OPEN, "CANCELLED|0:9"),
        ("11", {"exit_code": 137}, "OUT_OF_MEMORY|0:9"),
        ("13", {"exit_code": 143}, "CANCELLED|0:15"),
        ("14", OPEN, "CANCELLED|0:9"),
    ],
)
def test_how_a_step_ended_is_said_as_slurm_does(user: SlurmUser, job: str, changes: Json, shown: str) -> None:
    gives_steps(user, f"job-{job}", a_step("0", **changes))
    assert user.reads(f"sacct -j {job}.0 -n -P -o State,ExitCode,End") == [f"{shown}|2026-03-02T11:59:00"]


def test_too_many_jobs_are_not_asked_for_their_steps_and_that_is_said(user: SlurmUser) -> None:
    gives_steps(user, "job-12", a_step("0"))
    gives_steps(user, "job-13", a_step("0"))
    user.monkeypatch.setattr(asking, "STEPS_MAX", 1)
    user.monkeypatch.setattr(sacct, "STEPS_MAX", 1)
    typed = user.types("sacct", "-j", "12,13", "-n", "-P", "-o", "JobID")
    assert typed.lines == ["12", "12.batch", "12.extern", "12.0", "13", "13.batch", "13.extern"]
    assert "steps are shown of the first 1 jobs" in typed.err
