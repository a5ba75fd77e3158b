"""sacct shows jobs with their steps, for people and for programs."""

import json

import pytest

from tests.unit.client.fake_server import Json
from tests.unit.slurm.conftest import SlurmUser


def test_the_usual_table_is_that_of_slurm(user: SlurmUser) -> None:
    assert user.reads("sacct -j 12,9") == [
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
        "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
        "9                 later       main        nlp          0    PENDING      0:0 ",
        "12                  bad       main        nlp          1     FAILED      3:0 ",
        "12.batch          batch                   nlp          1     FAILED      3:0 ",
        "12.extern        extern                   nlp          1     FAILED      3:0 ",
    ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("sacct -j 11 -X -n -P -o State,ExitCode,Elapsed,ElapsedRaw", ["OUT_OF_MEMORY|0:125|00:01:00|60"]),
        ("sacct -j 13 -X -n -P -o State,ExitCode,Reason", ["TIMEOUT|0:15|TimeLimit"]),
        ("sacct -j 14 -X -n -P -o State", ["CANCELLED"]),
        ("sacct -j 7 -X -n -p -o JobID,AllocTRES,NNodes", ["7|cpu=128,mem=1T,node=2,billing=128,gres/gpu=16|2|"]),
        ("sacct -j 7.batch -n -P -o JobID,JobName,NTasks,MaxRSS", ["7.batch|batch|16|"]),
        ("sacct -j 7.0 --format=Reason --noheader", []),
        ("sacct -j 99 -n", []),
        ("sacct -j 10 -X -n -P -o JobID,State", ["10_0|COMPLETED", "10_1|RUNNING", "10_[2-4%2]|PENDING"]),
        ("sacct -j 10_3 -X -n -P -o JobID --array", ["10_3"]),
        ("sacct -j 10 -X -n -P -o jobidraw --array -s PD", ["11000000002", "11000000003", "11000000004"]),
        ("sacct -j 11000000003 -X -n -P -o JobID", ["10_3"]),
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
