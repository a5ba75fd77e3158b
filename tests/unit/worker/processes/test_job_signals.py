"""A signal that a user sends reaches programs and steps, and no shell that would die of it."""

from muster.processes import ProcessEntry
from muster.worker.processes.job_signals import chosen

MAIN = 1


def names_of(tree: dict[int, tuple[int, str, str]], *, script_only: bool = False) -> set[str]:
    """The command lines of those that are chosen, from pid -> (parent, command line, environment)."""
    below = [
        ProcessEntry(pid=pid, parent=parent, group=pid, session=1, state="S", start_ticks=pid)
        for pid, (parent, _, _) in tree.items()
    ]

    def read(pid: int, name: str) -> bytes:
        _, command_line, environment = tree[pid]
        return (command_line if name == "cmdline" else environment).replace(" ", "\0").encode()

    return {tree[each.pid][1] for each in chosen(below, MAIN, script_only=script_only, read=read)}


PLAIN = {2: (MAIN, "/bin/sh -c run", ""), 3: (2, "python train.py", ""), 4: (3, "python worker", "")}

BATCH = {
    2: (MAIN, "python -m muster.worker.gang hub", ""),
    3: (2, "/bin/bash script", "SLURM_JOB_ID=7"),
    4: (3, "python -I -m muster.slurm srun", "SLURM_JOB_ID=7"),
    5: (2, "python -m muster.worker.gang step", ""),
    6: (5, "bash -c task", "SLURM_JOB_ID=7 SLURM_STEP_ID=0"),
    7: (6, "python train.py", "SLURM_STEP_ID=0"),
}


def test_programs_get_it_and_the_shell_around_them_does_not() -> None:
    assert names_of(PLAIN) == {"python train.py", "python worker"}


def test_all_processes_of_steps_get_it_and_the_script_does_not() -> None:
    assert names_of(BATCH) == {"bash -c task", "python train.py"}


def test_the_shell_of_the_script_gets_it_alone_when_that_is_asked_for() -> None:
    assert names_of(BATCH, script_only=True) == {"/bin/bash script"}
    assert names_of(PLAIN, script_only=True) == {"/bin/sh -c run"}


def test_a_script_without_steps_is_its_programs() -> None:
    assert names_of({each: BATCH[each] for each in (2, 3)} | {8: (3, "sleep 60", "")}) == {"sleep 60"}
