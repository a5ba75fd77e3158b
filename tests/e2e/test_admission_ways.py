"""Whatever way a job is submitted, admission rules are asked about it, and a refusal is exit code 3."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("ways")
    shell = Shell(home=folder / "home", folder=folder)
    started = shell.run("up", "-d", "--nodes", "2x4", "--port", "0")
    assert started.returncode == 0, started.stderr
    yield shell
    shell.run("down", "--jobs")


def test_every_way_of_submitting_passes_the_rules(shell: Shell, tmp_path: Path) -> None:
    shell.says("admission", "set", "limits", "when=!has(job.max_duration)", "set={max_duration: 1h}")
    shell.says("admission", "set", "no tests", "when=job.name.startsWith('no-')", "deny=not this one")
    shell.says("slurm", "install", str(tmp_path / "bin"))
    sbatch = str(tmp_path / "bin" / "sbatch")
    set_by_rule = "the admission rule 'limits' set max_duration"
    for way in (("muster", "run", "true"), (sbatch, "--wrap", "true")):
        command = shell.run(*way[1:]) if way[0] == "muster" else shell.call(*way)
        assert command.returncode == 0, command.stderr
        assert set_by_rule in command.stderr
    refused = "the admission rule 'no tests' refuses the job: not this one"
    file = tmp_path / "job.yaml"
    file.write_text("name: no-a\nrun: 'true'\n")
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\n#SBATCH --job-name=no-b\ntrue\n")
    ways = (
        ("submit", str(file)),
        ("submit", str(file), "--dry-run"),
        ("submit", "--sbatch", str(script)),
        ("run", "--name", "no-c", "true"),
    )
    for words in ways:
        result = shell.run(*words)
        assert (words, result.returncode) == (words, 3)
        assert refused in " ".join((result.stdout + result.stderr).split())
    batch = shell.call(sbatch, str(script))
    assert batch.returncode != 0
    assert refused in batch.stderr
    assert shell.says("ps", "--all", "-q").split() == ["job-2", "job-1"]
