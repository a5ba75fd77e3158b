"""What people run on Slurm runs here: submitit, and scripts that ask about themselves and submit others."""

from tests.e2e.conftest import Shell, eventually
from tests.e2e.slurm_programs import slurm_shell

ARRAY = """
import sys
import time
import submitit

def square(x):
    if x == 13:
        raise ValueError("unlucky")
    return x * x

executor = submitit.SlurmExecutor(folder="submitit")
executor.update_parameters(time=5, array_parallelism=4)
executor.job_class.watcher._delay_s = 1  # otherwise a failed task is noticed after ten minutes
jobs = executor.map_array(square, [int(word) for word in sys.argv[1:]])
results = [job.result() for job in jobs if job.exception() is None]
while any(job.state not in ("COMPLETED", "FAILED") for job in jobs):
    time.sleep(0.2)  # a result is there before its job has ended
print(results, [job.state for job in jobs])
"""


def test_submitit_runs_an_array_with_results_and_sees_what_failed(shell: Shell) -> None:
    told = slurm_shell(shell).python(ARRAY, "1", "2", "13")
    assert told.strip() == "[1, 4] ['COMPLETED', 'COMPLETED', 'FAILED']"


def test_a_script_asks_about_itself_and_submits_another_job(shell: Shell) -> None:
    slurm = slurm_shell(shell)
    (shell.folder / "outer.sh").write_text(
        "#!/bin/bash\n#SBATCH --job-name=Outer --output=outer.out\n"
        'squeue -h -j $SLURM_JOB_ID -o "%j %T"\n'
        'sbatch --parsable --job-name=inner --output=inner.out --wrap "echo inside"\n'
    )
    outer = slurm.says("sbatch", "--parsable", "outer.sh").strip()
    inner = shell.folder / "inner.out"
    eventually(lambda: inner.exists() and inner.read_text() == "inside\n", what="the inner job")
    asked, submitted = (shell.folder / "outer.out").read_text().splitlines()
    assert asked == "Outer RUNNING"
    eventually(lambda: slurm.says("sacct", "-Xnj", submitted, "-o", "state%-9").strip() == "COMPLETED", what="its end")
    assert slurm.says("sacct", "-Xn", "-P", "-j", outer, "-o", "JobName,State,ExitCode") == "Outer|COMPLETED|0:0\n"


def test_a_job_that_requeues_itself_runs_again_under_its_id(shell: Shell) -> None:
    slurm = slurm_shell(shell)
    (shell.folder / "again.sh").write_text(
        "#!/bin/bash\n#SBATCH --output=again.out --open-mode=append\n"
        "echo restart $SLURM_RESTART_COUNT\n"
        '[ "$SLURM_RESTART_COUNT" != 0 ] || { scontrol requeue $SLURM_JOB_ID; sleep 60; }\n'
    )
    job = slurm.says("sbatch", "--parsable", "again.sh").strip()
    eventually(lambda: "COMPLETED" in slurm.says("sacct", "-Xnj", job, "-o", "State%20"), what="its second end")
    assert (shell.folder / "again.out").read_text().splitlines() == ["restart 0", "restart 1"]
