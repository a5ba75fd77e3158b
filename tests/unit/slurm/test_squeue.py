"""squeue shows what waits and runs, in the columns that its users and their tools expect."""

import json

import pytest

from tests.unit.slurm.conftest import OPEN, SlurmUser, a_step, gives_steps


def test_the_usual_table_is_that_of_slurm(user: SlurmUser) -> None:
    assert user.reads("squeue") == [
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)",
        "                 8      main      big      bob PD       0:00      1 (Resources)",
        "                 9      main    later      ada PD       0:00      1 (Dependency)",
        "        10_[2-4%2]      main    sweep      ada PD       0:00      1 (JobArrayTaskLimit)",
        "                 7      main llama-pr      ada  R    2:50:00      2 n[1-2]",
        "              10_1      main    sweep      ada  R       2:00      1 n3",
    ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("squeue -h -o %i|%T", ["8|PENDING", "9|PENDING", "10_[2-4%2]|PENDING", "7|RUNNING", "10_1|RUNNING"]),
        ("squeue --noheader --format=%i --me", ["9", "10_[2-4%2]", "7", "10_1"]),
        ("squeue -h -u account -t R -o %i", ["7", "10_1"]),
        ("squeue -h -u bob,nobody -o %i", ["8"]),
        ("squeue -h -t PD,CG -o %A", ["8", "9", "10"]),
        ("squeue -h -t pending -r -o %i.%K", ["8.N/A", "9.N/A", "10_2.2", "10_3.3", "10_4.4"]),
        ("squeue -h -n sweep -o %F_%K", ["10_[2-4%2]", "10_1"]),
        ("squeue -h -j 7,10_1 -o %i", ["7", "10_1"]),
        ("squeue -h -A nlp -p main -t R -o %i", ["7", "10_1"]),
        ("squeue -h -w n[2-3] -o %i", ["7", "10_1"]),
        ("squeue -h -S -i -o %i", ["10_[2-4%2]", "10_1", "9", "8", "7"]),
        ("squeue -h -j 7 -o %D,%C,%l,%L,%m,%b,%q", ["2,128,2-00:00:00,1-21:10:00,512G,gres:gpu:8,standard"]),
        ("squeue -h -j 7 -o %Z", ["/data/ada"]),
        ("squeue -h -j 7 -o %V,%S,%e", ["2026-03-02T09:00:00,2026-03-02T09:10:00,2026-03-04T09:10:00"]),
        ("squeue -h -j 9 -o %E;%l;%S", ["afterok:7;7-00:00:00;N/A"]),
        ("squeue -h -j 7 -O JobID:.8,Name:5,StateCompact", ["       7llamaR                   "]),
        ("squeue -h --start -u bob -o %i,%S,%R", ["8,2026-03-02T13:00:00,(Resources)"]),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_shown(user: SlurmUser, line: str, shown: list[str]) -> None:
    assert user.reads(line) == shown


def test_jobs_that_ended_a_moment_ago_are_known_when_all_states_are_asked_for(user: SlurmUser) -> None:
    shown = user.reads("squeue --noheader -t all -o %i|%t")
    assert {"11|OOM", "12|F", "13|TO", "14|CA", "10_0|CD", "7|R"} <= set(shown)
    assert "2|CD" not in shown


def test_an_id_that_slurm_would_not_know_is_an_error(user: SlurmUser) -> None:
    for job in ("99", "2"):
        typed = user.types("squeue", "-j", job)
        assert (typed.code, typed.out) == (1, "")
        assert typed.err == "slurm_load_jobs error: Invalid job id specified\n"
    assert user.reads("squeue -h -j 12") == []
    assert user.reads("squeue -h -j 99,7 -o %i") == ["7"]


@pytest.mark.parametrize(
    "words", [("-o", "%d"), ("-t", "NOPE"), ("-j", "x"), ("--nonsense",), ("-S", "!"), ("-O", "x")]
)
def test_wrong_use_ends_with_one_line_and_code_1(user: SlurmUser, words: tuple[str, ...]) -> None:
    typed = user.types("squeue", *words)
    assert (typed.code, "squeue: error" in typed.err) == (1, True)


def test_json_has_the_keys_of_slurm(user: SlurmUser) -> None:
    document = json.loads(user.types("squeue", "--json", "-j", "7").out)
    job = document["jobs"][0]
    assert (job["job_id"], job["job_state"], job["nodes"], job["user_name"]) == (7, "RUNNING", "n[1-2]", "ada")
    assert (job["time_limit"], job["start_time"], job["standard_output"]) == (
        2880,
        1772442600,
        "/data/ada/llama-pretrain-7.out",
    )


def test_reasons_are_asked_for_only_when_they_are_shown(user: SlurmUser) -> None:
    user.reads("squeue -h -o %i")
    assert not [each for each in user.server.requests if each.url.path.endswith("/why")]


def test_steps_that_run_are_listed_in_the_place_of_their_jobs(user: SlurmUser) -> None:
    gives_steps(user, "job-7", a_step("0"), a_step("1", name="sleep", nodes=["n2"], **OPEN))
    assert user.reads("squeue -s -j 7") == [
        "         STEPID     NAME PARTITION     USER      TIME NODELIST",
        "        7.batch    batch      main      ada   2:50:00 n1",
        "       7.extern   extern      main      ada   2:50:00 n[1-2]",
        "            7.1    sleep      main      ada      2:00 n2",
    ]
