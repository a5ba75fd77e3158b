"""Batch scripts as people write them (tests/data/sbatch), on four virtual nodes: each does what its author expects."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.client import Client
from muster.client.answers import Job
from tests.e2e.conftest import DEADLINE_S, Shell, eventually

SCRIPTS = Path(__file__).parents[1] / "data" / "sbatch"


class Slurm:
    """A user at a shell with the commands of Slurm."""

    def __init__(self, shell: Shell, token: str) -> None:
        self.shell = shell
        self.folder = shell.folder
        self.token = token

    def type(self, *words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command until it ends."""
        return subprocess.run(
            [sys.executable, "-m", "muster.slurm", *words],
            env=self.shell.environment,
            cwd=self.folder,
            text=True,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            timeout=DEADLINE_S * 2,
            check=False,
        )

    def submitted(self, *words: str) -> str:
        """The id of a job that is submitted now."""
        done = self.type("sbatch", "--parsable", *words)
        assert done.returncode == 0, done.stderr
        return f"job-{done.stdout.strip()}"

    def ended(self, job: str) -> Job:
        """The job, once it has ended."""
        with Client(token=self.token, url=self.shell.variables["MUSTER_URL"]) as client:
            return client.wait(job, timeout=DEADLINE_S * 2)

    def lines(self, file: str) -> list[str]:
        return (self.folder / file).read_text().splitlines()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """The commands, beside a server with four nodes of eight GPUs."""
    shell = Shell(home=tmp_path_factory.mktemp("home"), folder=tmp_path_factory.mktemp("work"))
    shutil.copytree(SCRIPTS, shell.folder, dirs_exist_ok=True)
    up = shell.run("up", "-d", "--nodes", "4x8", "--port", "0")
    try:
        assert up.returncode == 0, up.stderr
        server = (shell.home / "server.json").read_text()
        found = re.search(r'"url": ?"([^"]+)"', server)
        assert found is not None
        shell.variables["MUSTER_URL"] = found[1]
        token = (shell.home / "token").read_text().strip()
        shell.variables["MUSTER_TOKEN"] = token
        yield Slurm(shell, token)
    finally:
        shell.run("down", "--jobs")


@pytest.fixture(scope="module")
def jobs(slurm: Slurm) -> dict[str, str]:
    """All scripts, submitted at once so that they run beside each other."""
    names = (
        "time_signal requeues step_signal layout array packed_steps gpus_per_task modules heredoc files fails "
        "leftovers one_gpu_steps strict"
    )
    return {f"{name}.sh": slurm.submitted(f"{name}.sh") for name in names.split()}


def test_arguments_and_options_of_the_command_line_reach_the_script(slurm: Slurm) -> None:
    job = slurm.submitted("--job-name=Sweep_B", "arguments.sh", "0.1", "a b", "c")
    assert slurm.ended(job).state == "succeeded"
    folder = os.path.realpath(slurm.folder)
    assert slurm.lines(f"Sweep_B-{job.removeprefix('job-')}.out") == [
        "job Sweep_B lr=0.1 rest=a b c",
        f"script slurm_script in {folder}",
        folder,
    ]


def test_nodes_and_tasks_decide_the_layout_and_srun_fans_out(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["layout.sh"]).state == "succeeded"
    lines = slurm.lines("layout.out")
    number = jobs["layout.sh"].removeprefix("job-")
    assert lines[0] == "2 2 4 2 2(x2) 2"
    assert lines[1] == f"{number} {number} research main muster 2"
    node = re.fullmatch(r"host (n\d) of (n\[\d-\d\]|n\[\d,\d\]) user \w+ restart 0", lines[2])
    assert node is not None, lines[2]
    tasks = sorted(lines[3:7])
    assert [line.rsplit(" ", 2)[0] for line in tasks] == [
        "0: rank 0/4 local 0 node 0",
        "1: rank 1/4 local 1 node 0",
        "2: rank 2/4 local 0 node 1",
        "3: rank 3/4 local 1 node 1",
    ]
    assert {len(line.split(" ")[-2].split(",")) for line in tasks} == {2}
    assert {line.split(" ")[-1] for line in tasks} == {"large"}
    assert lines[7:9] == ["agent 0 of 2 agent large", "agent 1 of 2 agent large"]
    assert lines[9:] == [f"alone on {node[1]}, step 2 of {number}", "resolves to 127.0.0.1"]


def test_each_task_of_an_array_has_its_index_and_its_file(slurm: Slurm, jobs: dict[str, str]) -> None:
    ended = slurm.ended(jobs["array.sh"])
    number = jobs["array.sh"].removeprefix("job-")
    assert ended.tasks == {"succeeded": 3, "failed": 1}
    for index in (1, 3, 5, 7):
        assert slurm.lines(f"array_{number}_{index}.log") == [
            f"task {index} of 4 from 1 to 7",
            f"port 1 array {number}",
        ]


def test_steps_in_the_background_share_the_allocation(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["packed_steps.sh"]).state == "succeeded"
    lines = [line for line in slurm.lines("packed.out") if "temporarily disabled" not in line]
    assert sorted(lines) == ["3", "monitor", *(f"run {seed} gpus 1" for seed in (1, 2, 3, 4, 5))]


def test_steps_with_a_gpu_each_run_side_by_side(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["one_gpu_steps.sh"]).state == "succeeded"
    assert len(set(slurm.lines("one_gpu_steps.out"))) == 4


def test_a_strict_script_finds_what_its_options_named(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["strict.sh"]).state == "succeeded"
    assert slurm.lines("strict.out") == ["--nnodes=1 --nproc_per_node=2", "default standard main 2048"]


def test_each_task_sees_its_own_gpu(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["gpus_per_task.sh"]).state == "succeeded"
    assert slurm.lines("per_task.out") == ["4", "0"]


def test_a_login_shell_that_loads_modules_goes_on_where_there_are_none(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["modules.sh"]).state == "succeeded"
    assert slurm.lines("modules.out")[-1] == "after the modules"


def test_programs_in_the_script_itself_run_once_and_on_all_tasks(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["heredoc.sh"]).state == "succeeded"
    first, *ranks, config = slurm.lines("heredoc.out")
    assert (first, sorted(ranks), config) == ("first True", ["rank 0", "rank 1"], '{"world": 2}')


def test_a_script_may_be_in_another_language(slurm: Slurm) -> None:
    done = slurm.type("sbatch", "--wait", "in_python.sbatch", "--fast", "x y")
    assert done.returncode == 0, done.stderr
    assert slurm.lines("in_python.out") == ["arguments ['--fast', 'x y']", "from py"]


def test_a_script_that_saves_before_its_limit_has_completed(slurm: Slurm, jobs: dict[str, str]) -> None:
    ended = slurm.ended(jobs["time_signal.sh"])
    assert (ended.state, slurm.lines("time_signal.out")[0]) == ("succeeded", "saved before the limit")


def test_a_script_asks_for_more_time_when_it_hears_that_its_own_is_nearly_over(
    slurm: Slurm, jobs: dict[str, str]
) -> None:
    ended = slurm.ended(jobs["requeues.sh"])
    assert (ended.state, ended.attempt) == ("succeeded", 2)
    assert slurm.lines("requeues.out") == ["saved in attempt 0 of process known", "went on in attempt 1"]


def test_a_signal_without_a_mark_goes_to_the_tasks_and_not_to_the_shell(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["step_signal.sh"]).state == "succeeded"
    *ranks, last = slurm.lines("step_signal.out")
    assert (sorted(ranks), last) == (["rank 0 saves", "rank 1 saves"], "steps ended with 0")


def test_output_goes_to_the_files_that_were_named(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["files.sh"]).state == "succeeded"
    number = jobs["files.sh"].removeprefix("job-")
    assert (slurm.lines("files.out"), slurm.lines("files.err")) == (["to out"], ["to err"])
    for task in (0, 1):
        assert slurm.lines(f"task-{task}-{number}.txt") == [f"out of {task}"]
        assert slurm.lines(f"task-{task}.err") == [f"err of {task}"]
    assert slurm.lines("steps.txt") == ["round 1", "round 2"]
    assert slurm.shell.says("logs", jobs["files.sh"]) == "to out\nto err\n"


def test_how_steps_fail_is_what_srun_returns(slurm: Slurm, jobs: dict[str, str]) -> None:
    ended = slurm.ended(jobs["fails.sh"])
    assert (ended.state, ended.exit_code) == ("failed", 17)
    said = [line for line in slurm.lines("fails.out") if not line.startswith(("srun:", "slurmstepd:"))]
    assert said == ["highest 4", "signal 139", "missing 2", "killed 143", "refused 1", "het 2"]


def test_steps_end_with_their_job(slurm: Slurm, jobs: dict[str, str]) -> None:
    assert slurm.ended(jobs["leftovers.sh"]).state == "succeeded"
    for rank in (0, 1):
        assert not Path(f"/proc/{(slurm.folder / f'left-{rank}').read_text().strip()}").exists()


def test_a_job_submits_the_next_one(slurm: Slurm) -> None:
    slurm.submitted(
        f"--export=ALL,MUSTER_TOKEN={slurm.token},MUSTER_URL={slurm.shell.variables['MUSTER_URL']}", "resubmits.sh"
    )
    eventually((slurm.folder / "chain.done").exists, what="the last link")
    eventually(lambda: slurm.lines("chain.out") == ["link 1", "link 2"], what="the output of both")


def test_jobs_wait_for_those_that_they_depend_on(slurm: Slurm) -> None:
    bad = slurm.submitted("--wrap", "exit 3", "-o", "bad.out")
    number = bad.removeprefix("job-")
    after = slurm.submitted("-d", f"afternotok:{number}", "--wrap", "echo cleaned up", "-o", "cleanup.out")
    never = slurm.submitted("-d", f"afterok:{number}", "--wrap", "echo never", "-o", "never.out")
    only = slurm.submitted("-J", "one", "-d", "singleton", "--wrap", "sleep 0.3; echo first", "-o", "one.out")
    slurm.submitted("-J", "one", "-d", "singleton", "--wrap", "echo second", "-o", "one.out", "--open-mode=append")
    assert slurm.ended(after).state == "succeeded"
    assert slurm.lines("cleanup.out") == ["cleaned up"]
    assert slurm.ended(never).state == "cancelled"
    assert slurm.ended(only).state == "succeeded"
    eventually(lambda: slurm.lines("one.out") == ["first", "second"], what="one after the other")


def test_srun_outside_an_allocation_is_a_job_of_its_own(slurm: Slurm) -> None:
    done = slurm.type("srun", "-n2", "--label", "bash", "-c", "echo $SLURM_PROCID; exit $((SLURM_PROCID * 40))")
    assert done.returncode == 40, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if not line.startswith("srun:")) == ["0: 0", "1: 1"]


def test_salloc_runs_a_command_here_and_gives_the_nodes_back(slurm: Slurm) -> None:
    command = 'echo "$SLURM_JOB_ID on $SLURM_NNODES"; srun -l sh -c "echo \\$SLURM_NODEID"; exit 3'
    done = slurm.type("salloc", "-N2", "--gpus-per-node=1", "sh", "-c", command)
    assert done.returncode == 3, done.stderr
    first, *ranks = done.stdout.splitlines()
    assert (first.split(" ", 1)[1], sorted(ranks)) == ("on 2", ["0: 0", "1: 1"])
    assert "salloc: Relinquishing job allocation" in done.stderr
    assert slurm.ended(f"job-{first.split(' ')[0]}").state == "cancelled"


def test_what_cannot_be_submitted_is_said_as_slurm_says_it(slurm: Slurm) -> None:
    unknown = slurm.type("sbatch", "--frobnicate", "layout.sh")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert unknown.stderr.splitlines() == [
        "sbatch: unrecognized option '--frobnicate'",
        'Try "sbatch --help" for more information',
    ]
    missing = slurm.type("sbatch", "no-such.sh")
    assert missing.stderr == "sbatch: error: Unable to open file no-such.sh: No such file or directory\n"
    het = slurm.type("sbatch", "-N1", "a.sh", ":", "-N2", "b.sh")
    assert (het.returncode, "heterogeneous" in het.stderr) == (1, True)
    shebang = slurm.type("sbatch", text="echo hello\n")
    assert (shebang.returncode, "The first line must start with #!" in shebang.stderr) == (1, True)
    tested = slurm.type("sbatch", "--test-only", "heredoc.sh")
    assert (tested.returncode, tested.stdout) == (0, "")
    assert tested.stderr.startswith("sbatch: Job to start at ")


def test_an_output_that_cannot_be_written_is_the_reason_of_the_job(slurm: Slurm) -> None:
    number = slurm.type("sbatch", "--parsable", "-o", "no/such/folder/%j.out", "--wrap", "true").stdout.strip()
    assert slurm.shell.type("wait", f"job-{number}", "--timeout", "60s").exit_code == 1
    shown = slurm.shell.says("show", f"job-{number}")
    assert "its output cannot be written to" in " ".join(shown.split())
    assert "there is no folder" in " ".join(shown.split())
    assert slurm.type("sacct", "-XnPo", "State,ExitCode", "-j", number).stdout == "FAILED|1:0\n"


def test_what_does_not_start_in_time_is_not_wanted(slurm: Slurm) -> None:
    full = slurm.type("sbatch", "--parsable", "-N4", "--gpus-per-node=8", "--wrap", "sleep 60").stdout.strip()
    try:
        eventually(lambda: slurm.type("squeue", "-hj", full, "-o", "%t").stdout == "R\n", what="a full cluster")
        before = set(slurm.type("squeue", "-ho", "%i").stdout.split())
        for words in (("srun", "-I", "--gpus=1", "true"), ("salloc", "--immediate=1", "--gpus=1", "true")):
            refused = slurm.type(*words)
            assert refused.returncode == 1, words
            assert "Unable to allocate resources: Requested nodes are busy: " in refused.stderr
        left = set(slurm.type("squeue", "-ho", "%i").stdout.split())
        assert full in left <= before
    finally:
        slurm.type("scancel", full)
    assert slurm.type("srun", "--immediate=30", "--gpus=1", "true").returncode == 0


def test_an_srun_that_is_interrupted_ends_its_job(slurm: Slurm) -> None:
    words = [sys.executable, "-m", "muster.slurm", "srun", "sh", "-c", "echo up; exec sleep 1000"]
    began = subprocess.Popen(
        words, env=slurm.shell.environment, cwd=slurm.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert began.stdout is not None
    assert began.stdout.readline() == "up\n"
    began.terminate()
    said = began.communicate(timeout=DEADLINE_S)[1]
    assert began.returncode == 6
    found = re.search(r"Force Terminated job (\d+)", said)
    assert found is not None, said
    until = time.monotonic() + DEADLINE_S
    assert slurm.ended(f"job-{found[1]}").state == "cancelled"
    assert time.monotonic() < until
