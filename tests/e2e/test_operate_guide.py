"""The operator's guide does what it says: its commands are run in the order in which they stand there."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.e2e.conftest import MUSTER, Shell
from tests.postgres import Server, running_server

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "operate.md").read_text("utf-8")
UNIT = ROOT / "deploy" / "systemd" / "muster.service"
NOT_HERE = ("sudo ", "pip ")
"""What needs the rights of root, or a package index."""
DEADLINE_S = 240.0


def commands() -> str:
    """All commands of the guide, as one script. `muster` is that of this tree."""
    blocks = re.findall(r"^```sh\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith(NOT_HERE)]
    return "\n".join(["set -e -o pipefail", f'muster() {{ {" ".join(map(repr, MUSTER))} "$@"; }}', *lines])


@pytest.fixture
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server


def test_every_command_of_the_guide_works_as_written(tmp_path: Path, postgres: Server) -> None:
    (configuration,) = re.findall(r"^```toml\n(# muster.toml.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    (tmp_path / "muster.toml").write_text(configuration.replace("8470", "0"), "utf-8")
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    shell.variables |= {"PGHOST": str(postgres.folder), "PGUSER": "postgres"}
    try:
        done = subprocess.run(
            ["bash", "-c", commands()],
            env=shell.environment,
            cwd=tmp_path,
            text=True,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        for home in (shell.home, tmp_path / "pg"):
            if home.exists():
                shell.run("down", "--jobs", "--home", str(home))
    assert "both: conflict" in done.stdout
    assert "policy.min_runtime is '10m' by a change at run time, and '2m' in the file" in done.stderr
    assert "\nok\n" in done.stdout
    assert (tmp_path / "muster.dump").stat().st_size > 0


def test_the_unit_is_one_that_systemd_takes_and_it_leaves_jobs_alone(tmp_path: Path) -> None:
    unit = UNIT.read_text("utf-8")
    assert "\nKillMode=process\n" in unit
    start = re.search(r"^ExecStart=/opt/muster/bin/muster (.*)$", unit, re.MULTILINE)
    assert start is not None
    options = start[1].split()
    assert Shell(home=tmp_path, folder=tmp_path).run(options[0], "--help").stdout.count(options[1])
    read = ConfigParser(strict=False, interpolation=None)
    read.read_string(unit)
    assert read.sections() == ["Unit", "Service", "Install"]
    if (verify := shutil.which("systemd-analyze")) is not None:
        here = tmp_path / UNIT.name
        here.write_text(unit.replace("/opt/muster/bin/muster", sys.executable), "utf-8")
        verified = subprocess.run([verify, "verify", str(here)], capture_output=True, text=True, check=False)
        assert (verified.returncode, verified.stderr) == (0, "")
