"""Trainings with PyTorch as batch scripts of Slurm start them: `make integrations`."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import DEADLINE_S, Shell

SCRIPTS = Path(__file__).parents[1] / "data" / "sbatch"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A server with two nodes of two GPUs, and the scripts."""
    made = Shell(home=tmp_path / "home", folder=tmp_path / "work")
    shutil.copytree(SCRIPTS, made.folder)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    made.variables |= {"PATH": path, "PORT": str(_free_port())}
    up = made.run("up", "-d", "--nodes", "2x2", "--port", "0")
    try:
        assert up.returncode == 0, up.stderr
        yield made
    finally:
        made.run("down", "--jobs")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def trained(shell: Shell, script: str) -> list[str]:
    """What a script prints that is submitted and waited for."""
    words = [sys.executable, "-m", "muster.slurm", "sbatch", "--wait", script]
    done = subprocess.run(
        words,
        env=shell.environment,
        cwd=shell.folder,
        text=True,
        capture_output=True,
        timeout=DEADLINE_S * 4,
        check=False,
    )
    text = (shell.folder / script).with_suffix(".out").read_text()
    assert done.returncode == 0, (done.stderr, text)
    return text.splitlines()


def test_ranks_by_procid_meet_and_add_up(shell: Shell) -> None:
    lines = [line for line in trained(shell, "ddp.sh") if line.startswith("rank")]
    assert sorted(lines) == [f"rank {rank} of 4 local {rank % 2} sum 6" for rank in range(4)]


def test_torchrun_in_srun_meets_at_the_first_name_of_the_node_list(shell: Shell) -> None:
    lines = trained(shell, "torchrun.sh")
    assert "head is n1" in lines
    ranks = [line for line in lines if line.startswith("rank")]
    assert sorted(line.rsplit(" ", 4)[0] for line in ranks) == [f"rank {rank} of 4" for rank in range(4)]
    assert {line.rsplit(" ", 1)[1] for line in ranks} == {"6"}
