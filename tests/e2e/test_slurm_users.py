"""More batch scripts as people write them (tests/data/sbatch): each does what its author expects."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell, eventually
from tests.e2e.slurm_programs import SlurmShell, slurm_shell

SCRIPTS = Path(__file__).parents[1] / "data" / "sbatch"
SUBMITTED = (
    "saves_and_requeues.sh",
    "rendezvous.sh",
    "sweep.sh",
    "programs.sh",
    "clean_environment.sh",
    "broadcast.sh",
    "gpu_bind.sh",
)
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


class Slurm:
    """A user whose scripts were submitted at once."""

    def __init__(self, shell: SlurmShell) -> None:
        self.says = shell.says
        self.run = shell.run
        self.folder = shell.shell.folder
        self.numbers: dict[str, str] = {}

    def submitted(self, *words: str) -> str:
        return self.says("sbatch", "--parsable", *words).strip()

    def states(self, number: str) -> list[str]:
        """How a job, or each task of an array, has ended."""

        def found() -> list[str]:
            states = self.says("sacct", "-XnPo", "State", "--array", "-j", number).split()
            return states if states and all(state in ENDED for state in states) else []

        return eventually(found, what=f"the end of {number}")

    def prints(self, script: str) -> list[str]:
        """What a script printed to the file of its name, once it has completed."""
        assert self.states(self.numbers[script]) == ["COMPLETED"]
        return (self.folder / f"{script.removesuffix('.sh')}.out").read_text().splitlines()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    shell = Shell(home=tmp_path_factory.mktemp("home"), folder=tmp_path_factory.mktemp("work"))
    shutil.copytree(SCRIPTS, shell.folder, dirs_exist_ok=True)
    (shell.folder / "sweep").mkdir()
    try:
        up = shell.run("up", "-d", "--nodes", "4x8", "--port", "0")
        assert up.returncode == 0, up.stderr
        shell.variables["MINE"] = "of the shell that submits"
        user = Slurm(slurm_shell(shell))
        user.numbers = {name: user.submitted(name) for name in SUBMITTED}
        yield user
    finally:
        shell.run("down", "--jobs")


def test_a_script_finds_its_first_node_and_names_its_files_after_itself(slurm: Slurm) -> None:
    assert slurm.states(slurm.numbers["rendezvous.sh"]) == ["COMPLETED"]
    assert (slurm.folder / "Llama 3 8B (ft)=é_out").read_text().splitlines() == [
        "2 nodes, ip known, port 1, 2 GPUs",
        "rank 0 of 2, node 0 sees 0,1",
        "rank 1 of 2, node 1 sees 0,1",
    ]
    assert "told" in (slurm.folder / "Llama 3 8B (ft)=é_err").read_text()


def test_a_sweep_with_a_stride_has_a_file_for_each_index(slurm: Slurm) -> None:
    number = slurm.numbers["sweep.sh"]
    assert slurm.states(number) == ["COMPLETED"] * 4
    found = [(slurm.folder / f"sweep/{number}_{index}_sweep.out").read_text() for index in (1, 3, 5, 7)]
    assert found == [f"{rate} of 4, 1-7:2\n" for rate in ("0.1", "0.2", "0.3", "0.4")]


def test_a_training_saves_before_its_limit_and_goes_on_after_it_was_requeued(slurm: Slurm) -> None:
    assert slurm.prints("saves_and_requeues.sh") == ["from the beginning", "from step 7"]


def test_each_task_runs_the_program_of_its_line(slurm: Slurm) -> None:
    *lines, wrong, ended = slurm.prints("programs.sh")
    assert sorted(lines) == ["0: master 0 of 0", "1: worker 1 offset 0", "2: worker 2 offset 1", "3: other 3"]
    assert ("no record for task id 1" in wrong, ended) == (True, "ended with 1")


def test_a_clean_environment_has_what_every_login_has(slurm: Slurm) -> None:
    assert slurm.prints("clean_environment.sh") == [
        "nothing, 2 GPUs, 1024 MB each, a user, a name, a home, a shell",
        "step: nothing",
    ]


def test_what_srun_reads_its_tasks_read(slurm: Slurm) -> None:
    many = slurm.folder / "many.txt"
    many.write_text("word\n" * 50_000)
    for words, counts in (("-n2", [50_000, 50_000]), ("-n2 --input=1", [0, 50_000]), ("-n2 --input=none", [0, 0])):
        said = slurm.says("sh", "-c", f"srun {words} wc -l < many.txt")
        assert sorted(map(int, said.split())) == counts, words
    assert slurm.says("srun", "-n2", "--input=many.txt", "head", "-n1") == "word\nword\n"


def test_a_file_is_put_on_all_nodes(slurm: Slurm) -> None:
    *lines, missing = slurm.prints("broadcast.sh")
    assert lines == ["hello from 0", "hello from 1", "is there", "replaced"]
    assert missing == "sbcast: error: Can't open `missing`: No such file or directory"


def test_a_binding_of_gpus_that_the_script_names_holds_for_its_steps(slurm: Slurm) -> None:
    assert slurm.prints("gpu_bind.sh") == ["0: 0", "1: 1", "2: 0", "3: 1"]


def test_chains_of_jobs_go_on_as_their_dependencies_say(slurm: Slurm) -> None:
    fails = slurm.submitted("chain.sh", "first", "1")
    never = slurm.submitted("-d", f"afterok:{fails}", "chain.sh", "never")
    then = slurm.submitted(f"--dependency=afterany:{fails}", "chain.sh", "then")
    last = slurm.submitted("-d", f"afternotok:{fails},afterok:{then}", "-J", "only", "chain.sh", "last")
    single = slurm.submitted("-d", "singleton", "-J", "only", "chain.sh", "single")
    states = [slurm.states(number)[0] for number in (fails, never, then, last, single)]
    assert states == ["FAILED", "CANCELLED", "COMPLETED", "COMPLETED", "COMPLETED"]
    waited = slurm.run("sbatch", "--wait", "chain.sh", "waited", "7")
    assert waited.returncode == 7


def test_a_job_that_waits_is_changed(slurm: Slurm) -> None:
    held = slurm.submitted("--hold", "-t", "30", "chain.sh", "held")
    slurm.says("scontrol", "update", f"JobId={held}", "TimeLimit=1-02:00:00")
    assert "TimeLimit=1-02:00:00" in slurm.says("scontrol", "show", "job", held)
    refused = slurm.run("scontrol", "update", f"JobId={held}", "NumNodes=2")
    assert (refused.returncode, "numnodes=2" in refused.stderr) == (1, True)
    slurm.says("scontrol", "release", held)
    assert slurm.states(held) == ["COMPLETED"]
