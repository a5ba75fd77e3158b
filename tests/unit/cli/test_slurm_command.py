"""`muster slurm install` puts the commands of Slurm into a folder."""

import json
import os
import subprocess
from pathlib import Path

from tests.unit.cli.conftest import Terminal


def test_all_commands_are_put_into_a_folder_and_start(terminal: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "slurm bin"
    for _ in range(2):
        assert terminal.type("slurm", "install", str(folder)).exit_code == 0
    names = [
        "sacct",
        "sacctmgr",
        "salloc",
        "sbatch",
        "sbcast",
        "scancel",
        "scontrol",
        "sinfo",
        "squeue",
        "srun",
        "sshare",
    ]
    assert sorted(os.listdir(folder)) == names
    said = json.loads(terminal.shows("slurm", "install", str(folder), "-o", "json"))
    assert (said["folder"], sorted(said["programs"])) == (str(folder), names)
    shown = subprocess.run([folder / "scontrol", "show", "hostnames", "n[1-2]"], capture_output=True, check=True)
    assert shown.stdout == b"n1\nn2\n"


def test_another_program_of_that_name_stays(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "squeue").write_text("the real one")
    refused = terminal.type("slurm", "install", str(tmp_path))
    assert (refused.exit_code, "squeue is another program" in refused.stderr) == (3, True)
    assert os.listdir(tmp_path) == ["squeue"]
    (tmp_path / "file").touch()
    assert terminal.type("slurm", "install", str(tmp_path / "file")).exit_code == 2
