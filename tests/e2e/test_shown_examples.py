"""What README and docs show with a server does what they say, as it is written there."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell
from tests.unit.test_docs import README, Block, all_blocks, blocks, is_training, name_of, needs_server


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user who has tried other examples before, and whose trainings end soon."""
    for user in a_user(tmp_path_factory):
        (user.folder / "seen").touch()
        yield user


@pytest.fixture
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user for whom the first job is `job-1`, whatever other tests of this file ran before."""
    yield from a_user(tmp_path_factory)


def a_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user whose folder has the files that the documents name, and nvidia-smi, before any server runs."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "train.yaml").write_text(job_file(), "utf-8")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "muster").write_text(f'#!/bin/sh\nexec {sys.executable} -m muster.cli.main "$@"\n', "utf-8")
    (programs / "nvidia-smi").write_text("#!/bin/sh\necho a GPU\n", "utf-8")
    for each in programs.iterdir():
        each.chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    shell = Shell(home=tmp_path_factory.mktemp("home"), folder=folder, variables={"PATH": path})
    yield shell
    shell.run("down", "--jobs")


def job_file() -> str:
    """The `train.yaml` of the README, with a training that lasts until the test has seen it run."""
    (found,) = [block for block in blocks(README) if block.language == "yaml" and block.text.startswith("name: ")]
    assert "sleep 30" in found.text
    return found.text.replace("sleep 30", "until [ -e seen ]; do sleep 0.1; done")


def runs(shell: Shell, *command: str) -> str:
    done = shell.call(*command)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def first_steps() -> list[str]:
    """The commands of the README that start a server, use it and end it."""
    (found,) = [block for block in blocks(README) if block.language == "sh" and "muster up" in block.text]
    lines = [line.partition("#")[0].strip() for line in found.text.splitlines()]
    return [line for line in lines if line.startswith("muster ")]


def test_the_first_steps_of_the_readme_work_in_their_order(newcomer: Shell) -> None:
    up, *steps, down = first_steps()
    assert (up.split()[1], down.split()[1]) == ("up", "down")
    told = {}
    for step in (f"{up} --port 0", *steps):
        if step == "muster logs -f job-1":
            (newcomer.folder / "seen").touch()
        told[step] = runs(newcomer, "sh", "-c", step)
    assert "job-1" in told["muster ps"]
    assert "job-2" in told["muster why job-2"]
    assert told["muster logs -f job-1"] == "step 1\nstep 2\n"
    assert told["muster run --gpus 1 -- nvidia-smi"] == "a GPU\n"


@pytest.mark.parametrize("block", [each for each in all_blocks("python") if needs_server(each)], ids=name_of)
def test_python_with_a_server_runs(shell: Shell, block: Block) -> None:
    shell.run("up", "-d", "--nodes", "4x8", "--port", "0")
    runs(shell, sys.executable, "-c", block.text)


AROUND_A_TRAINING = """\
import torch

STEPS = 3
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train_one(step):
    loss = model(torch.ones(1, 2)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()

"""
"""What a reader has already: a model and a step of its training."""


@pytest.mark.parametrize("block", [each for each in all_blocks("python") if is_training(each)], ids=name_of)
def test_a_training_that_is_shown_runs_as_a_job(shell: Shell, block: Block) -> None:
    shell.run("up", "-d", "--nodes", "4x8", "--port", "0")
    (shell.folder / "training.py").write_text(f"{AROUND_A_TRAINING}{block.text}\nprint('at step', step)\n", "utf-8")
    job = {"name": "training", "run": f"{sys.executable} training.py", "checkpoint": {"path": str(shell.folder / "ck")}}
    (shell.folder / "training.json").write_text(json.dumps(job), "utf-8")
    assert "at step 3" in runs(shell, "muster", "submit", "training.json", "-f")
