"""scontrol shows and changes jobs; scancel ends them."""

import pytest

from tests.unit.client.fake_server import a_node
from tests.unit.slurm.conftest import SlurmUser


def values(text: str) -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in text.split() if "=" in word)


def test_a_job_is_shown_with_the_keys_of_slurm(user: SlurmUser) -> None:
    shown = values(user.types("scontrol", "show", "job", "7").out)
    assert {
        key: shown[key] for key in ("JobId", "JobName", "UserId", "JobState", "Reason", "TimeLimit", "NodeList")
    } == {
        "JobId": "7",
        "JobName": "llama-pretrain",
        "UserId": "ada(0)",
        "JobState": "RUNNING",
        "Reason": "None",
        "TimeLimit": "2-00:00:00",
        "NodeList": "n[1-2]",
    }
    assert (shown["NumNodes"], shown["NumTasks"], shown["CPUs/Task"], shown["BatchHost"]) == ("2", "16", "8", "n1")
    one_line = user.reads("scontrol -o show job=10_1")
    assert len(one_line) == 1
    assert "ArrayJobId=10 ArrayTaskId=1" in one_line[0]


def test_nodes_partitions_and_the_configuration_are_shown(user: SlurmUser) -> None:
    assert "State=IDLE+DRAIN" in user.types("scontrol", "show", "node", "n4").out
    shown = values(user.types("scontrol", "show", "partition", "main").out)
    assert (shown["PartitionName"], shown["Default"], shown["TotalNodes"]) == ("main", "YES", "3")
    config = user.types("scontrol", "show", "config").out
    assert "MinJobAge               = 300 sec\n" in config
    assert "MaxArraySize            = 10001\n" in config
    assert user.types("scontrol", "show", "node", "n9").code == 1


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("scontrol show hostnames n[1-3,08-10],login", ["n1", "n2", "n3", "n08", "n09", "n10", "login"]),
        ("scontrol show hostlist n1,n2,n3,login,n7", ["n[1-3,7],login"]),
        ("scontrol version", ["slurm 22.05.9"]),
        ("squeue --version", ["slurm 22.05.9"]),
        ("scontrol ping", ["Slurmctld(primary) at http://127.0.0.1:8470 is UP"]),
    ],
)
def test_what_needs_no_job_is_answered(user: SlurmUser, line: str, shown: list[str]) -> None:
    assert user.reads(line) == shown


def test_host_names_come_from_the_job_that_asks(user: SlurmUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    assert user.reads("scontrol show hostnames") == ["n1", "n2"]


def test_jobs_are_held_released_requeued_and_changed(user: SlurmUser) -> None:
    for verb in ("hold", "release", "requeue"):
        user.reads(f"scontrol {verb} 8 10_1")
        assert user.server.bodies("POST", f"/v1/jobs/job-8/{verb}") == [{}]
        assert user.server.bodies("POST", f"/v1/jobs/job-10.1/{verb}") == [{}]
    user.reads("scontrol update JobId=7 TimeLimit=1-12:00:00")
    user.reads("scontrol update jobid=7 timelimit=+30")
    user.reads("scontrol update JobId=8 Priority=70 QOS=production")
    assert user.server.bodies("PATCH", "/v1/jobs/job-7") == [{"max_duration_s": 129600.0}, {"max_duration_s": 131400.0}]
    assert user.server.bodies("PATCH", "/v1/jobs/job-8") == [{"priority": 70, "tier": "production"}]
    user.reads("scontrol update JobId=8 Priority=0")
    assert user.server.jobs["job-8"]["held"]


def test_nodes_are_drained_and_resumed(user: SlurmUser) -> None:
    user.server.nodes.append(a_node("n5"))
    user.reads("scontrol update NodeName=n5 State=DRAIN Reason=disk")
    assert user.server.nodes[-1]["state"] == "drained"
    user.reads("scontrol update NodeName=n5 State=RESUME")
    assert user.server.nodes[-1]["state"] == "ready"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "job", "99"), "slurm_load_jobs error: Invalid job id specified\n"),
        (("show", "job", "2"), "slurm_load_jobs error: Invalid job id specified\n"),
        (("requeue", "99"), "Invalid job id specified for job 99\n"),
        (("show", "nonsense"), "invalid entity:nonsense for keyword:show\n"),
        (("update", "JobId=7", "Licenses=x"), "Update of this parameter is not supported: licenses=x\n"),
    ],
)
def test_what_cannot_be_done_is_said(user: SlurmUser, words: tuple[str, ...], message: str) -> None:
    typed = user.types("scontrol", *words)
    assert (typed.code, typed.err) == (1, message)


@pytest.mark.parametrize(
    ("line", "ended"),
    [
        ("scancel 7", {"job-7"}),
        ("scancel 10_1 9", {"job-10.1", "job-9"}),
        ("scancel 10_[2-3]", {"job-10.2", "job-10.3"}),
        ("scancel 10", {"job-10"}),
        ("scancel -n sweep", {"job-10.1", "job-10.2", "job-10.3", "job-10.4"}),
        ("scancel -u account -t RUNNING", {"job-7", "job-10.1"}),
        ("scancel --me --state=pending -n later", {"job-9"}),
        ("scancel -s KILL 7", {"job-7"}),
    ],
)
def test_jobs_are_ended(user: SlurmUser, line: str, ended: set[str]) -> None:
    user.reads(line)
    asked = {each.url.path.split("/")[3] for each in user.server.requests if each.url.path.endswith("/cancel")}
    assert asked == ended


def test_a_job_that_does_not_exist_cannot_be_ended(user: SlurmUser) -> None:
    typed = user.types("scancel", "99")
    assert (typed.code, typed.err) == (1, "scancel: error: Kill job error on job id 99: Invalid job id specified\n")
    assert user.types("scancel").code == 1
    assert user.types("scancel", "-Q", "99").err == ""


def test_a_signal_is_sent_to_jobs_and_to_the_tasks_of_an_array_that_run(user: SlurmUser) -> None:
    user.reads("scancel 7 --signal USR2")
    user.reads("scancel -b --signal=SIGUSR1 7")
    user.reads("scancel -s 10 10")
    sent = {"name": "USR2", "script_only": False}, {"name": "USR1", "script_only": True}
    assert user.server.bodies("POST", "/v1/jobs/job-7/signal") == list(sent)
    assert user.server.bodies("POST", "/v1/jobs/job-10.1/signal") == [{"name": "USR1", "script_only": False}]
    assert user.types("scancel", "-s", "NOPE", "7").err == "scancel: error: Unknown job signal: NOPE\n"
