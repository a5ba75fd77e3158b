"""`scontrol show job` has the lines of Slurm 22.05, in its order, and says nothing that is not so."""

import re
from pathlib import Path

from tests.unit.client.fake_server import a_job, a_node
from tests.unit.slurm.conftest import HOME, SlurmUser

KEYS = (
    "JobId JobName UserId GroupId MCS_label Priority Nice Account QOS JobState Reason Dependency Requeue "
    "Restarts BatchFlag Reboot ExitCode RunTime TimeLimit TimeMin SubmitTime EligibleTime AccrueTime "
    "StartTime EndTime Deadline SuspendTime SecsPreSuspend LastSchedEval Scheduler Partition "
    "AllocNode:Sid ReqNodeList ExcNodeList NodeList BatchHost NumNodes NumCPUs NumTasks CPUs/Task "
    "ReqB:S:C:T TRES Socks/Node NtasksPerN:B:S:C CoreSpec MinCPUsNode MinMemoryNode MinTmpDiskNode "
    "Features DelayBoot OverSubscribe Contiguous Licenses Network Command WorkDir StdErr StdIn StdOut "
    "Power TresPerNode"
)
"""What Slurm 22.05 prints of a job that runs, has GPUs and no comment."""


def shown(user: SlurmUser, job: str) -> dict[str, str]:
    text = user.types("scontrol", "-o", "show", "job", job).out
    return dict(re.findall(r"(?:^| )([A-Za-z/:]+|[A-Z]\w+_label)=(.*?)(?= [A-Z][\w/:]*=|$)", text.strip()))


def test_a_script_that_runs_has_every_key_in_the_order_of_slurm(user: SlurmUser) -> None:
    spec = user.server.jobs["job-7"]["spec"]
    spec |= {"launch": "slurm", "nodelist": ["n1", "n2"], "preemptible": False}
    spec["batch"] |= {"file": f"{HOME}/train.sh", "arguments": ["--lr", "3"], "error": "err/%j"}
    seen = shown(user, "7")
    assert " ".join(seen) == KEYS
    told = ("ReqNodeList", "Command", "StdOut", "StdErr", "StdIn", "WorkDir", "BatchFlag", "Requeue", "MinCPUsNode")
    assert {key: seen[key] for key in told} == {
        "ReqNodeList": "n[1-2]",
        "Command": f"{HOME}/train.sh --lr 3",
        "StdOut": f"{HOME}/llama-pretrain-7.out",
        "StdErr": f"{HOME}/err/7",
        "StdIn": "/dev/null",
        "WorkDir": HOME,
        "BatchFlag": "1",
        "Requeue": "0",
        "MinCPUsNode": "64",
    }
    assert (seen["NtasksPerN:B:S:C"], seen["TresPerNode"]) == ("8:0:*:*", "gres:gpu:8")


def test_what_a_job_does_not_have_is_what_slurm_prints_of_nothing(user: SlurmUser) -> None:
    user.server.jobs["job-20"] = a_job("job-20", spec={"launch": "slurm", "run": "#!/bin/sh\ntrue", "batch": {}})
    seen = shown(user, "20")
    nothing = ("Command", "ReqNodeList", "ExcNodeList", "NodeList", "Dependency", "Features", "Licenses", "Network")
    assert {seen[key] for key in nothing} == {"(null)"}
    assert "BatchHost" not in seen
    assert "TresPerNode" not in seen or seen["TresPerNode"].startswith("gres")
    assert (seen["StdOut"], seen["Requeue"], seen["BatchFlag"]) == ("", "1", "1")


def test_a_job_that_waits_no_more_has_no_dependency(user: SlurmUser) -> None:
    assert shown(user, "9")["Dependency"] == "afterok:7"
    user.server.jobs["job-9"]["state"] = "running"
    assert shown(user, "9")["Dependency"] == "(null)"


def test_a_job_is_eligible_when_it_might_start(user: SlurmUser) -> None:
    assert shown(user, "9")["EligibleTime"] == "Unknown"  # it waits for another
    user.server.jobs["job-20"] = a_job("job-20", spec={"run": "true", "begin": "2h"})
    user.server.jobs["job-21"] = a_job("job-21", spec={"run": "true", "begin": "2026-03-02T18:00:00+00:00"})
    eligible, submitted = (shown(user, "20")[key] for key in ("EligibleTime", "SubmitTime"))
    assert int(eligible[11:13]) - int(submitted[11:13]) == 2
    assert shown(user, "21")["EligibleTime"] == "2026-03-02T18:00:00"


def test_a_task_of_an_array_has_its_own_number_and_that_of_the_array(user: SlurmUser) -> None:
    text = user.types("scontrol", "-o", "show", "job", "10_1").out
    raw, array, index = re.match(r"JobId=(\d+) ArrayJobId=(\d+) ArrayTaskId=(\d+) JobName=", text).groups()  # type: ignore[union-attr]
    assert (array, index) == ("10", "1")
    assert raw == user.reads("squeue -h -t all -j 10_1 -o %A")[0]


def test_the_script_of_a_job_is_written_out(user: SlurmUser, tmp_path: Path) -> None:
    user.server.jobs["job-7"]["spec"]["launch"] = "slurm"
    script = user.server.jobs["job-7"]["spec"]["run"]
    assert user.types("scontrol", "write", "batch_script", "7", "-").out == script
    file = tmp_path / "again.sh"
    user.types("scontrol", "write", "batch_script", "7", str(file))
    assert file.read_text() == script
    assert user.types("scontrol", "write", "batch_script", "8", "-").code == 1
    assert user.types("scontrol", "show", "jobid", "-dd", "7").out.startswith("JobId=7 ")


def test_a_node_without_counts_has_what_slurm_shows_of_one_that_nobody_configured(user: SlurmUser) -> None:
    used = {"gpus": 2, "cpus": 12, "memory_bytes": 3 << 30}
    user.server.nodes[:] = [a_node("n1", gpus=4, cpus=None, memory_bytes=None, used=used, jobs=["job-7"])]
    text = user.types("scontrol", "show", "node", "n1").out
    assert "CPUAlloc=12 CPUEfctv=12 CPUTot=12 CPULoad=N/A" in text
    assert "RealMemory=1 AllocMem=3072 FreeMem=N/A" in text
    assert "AllocTRES=cpu=12,mem=3072M,gres/gpu=2" in text
    assert user.reads("sinfo -h -N -o %e") == ["N/A"]
