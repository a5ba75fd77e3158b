"""Whatever is wrong with a job file, `muster submit` says where and what, and sends nothing: never a traceback."""

import contextlib
import io
import json
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from muster.cli.main import app
from muster.client import client as client_module
from muster.client.transport import Transport
from tests.property.test_formats import mutated
from tests.unit.client.fake_server import FakeServer

EXAMPLE = (Path(__file__).parents[2] / "examples" / "job.yaml").read_text("utf-8")
SMALL = "name: train\nworkers: 2\nresources: {gpus: 8}\nrun: python train.py\n"
ROLES = "name: rl\nroles:\n  learner: {resources: {gpus: 8}, run: learn}\n  actor: {workers: 4, run: act}\n"
ARRAY = "name: sweep\narray: 0-99%8\nrun: ./try $MUSTER_JOB\ntags: {project: atlas}\nretry: {limit: 3, on: [oom]}\n"
ORIGINALS = (EXAMPLE, SMALL, ROLES, ARRAY)
FILES = 10_000
NOISE = "{}[]:,&*!|>'\"%@`#\t\n -x0\0é\\~?"
COMPLAINT = re.compile(r"(?:muster: )?job\.yaml(?::\d+: .+|: the file is empty|: and \d+ more|: not YAML: .+)")

Command = Callable[[list[str]], tuple[int, str]]


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def muster(server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line, built once and called in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUSTER_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("WANDB_PROJECT", "atlas")
    connected = partial(lambda address, **options: Transport(address, **{**options, "below": server.transport}))
    monkeypatch.setattr(client_module, "Transport", connected)
    command = typer.main.get_command(app)

    def call(arguments: list[str]) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            try:
                command.main(arguments, prog_name="muster")
            except SystemExit as end:
                return int(end.code or 0), said.getvalue()
        raise AssertionError("a command ends with an exit code")

    return call


def with_noise(text: str, chance: random.Random) -> str:
    """The text with a few characters changed, dropped, doubled or swapped with others."""
    letters = list(text)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(letters))
        match chance.randrange(4):
            case 0:
                letters[at] = chance.choice(NOISE)
            case 1:
                del letters[at : at + chance.randint(1, 20)]
            case 2:
                letters[at:at] = letters[at : at + chance.randint(1, 40)]
            case _:
                other = chance.randrange(len(letters))
                letters[at], letters[other] = letters[other], letters[at]
    return "".join(letters)


def with_other_values(text: str, chance: random.Random) -> str:
    """The file with one or two of its entries replaced, removed, renamed or swapped."""
    value: Any = yaml.load(text, Loader=yaml.CSafeLoader)
    for _ in range(chance.randint(1, 2)):
        if isinstance(value, dict) and value:
            value = mutated(value, chance)
    return json.dumps(value, indent=1)


def test_every_changed_file_is_submitted_or_refused_with_its_place(muster: Command, server: FakeServer) -> None:
    chance = random.Random(2026)
    outcomes = {0: 0, 2: 0}
    # One file that is written over: making a new one each time takes longer than reading it.
    with Path("job.yaml").open("wb", buffering=0) as file:
        for _ in range(FILES):
            change = with_noise if chance.random() < 0.5 else with_other_values
            text = change(chance.choice(ORIGINALS), chance).encode()
            file.seek(0)
            file.truncate(file.write(text))
            code, said = muster(["submit", "job.yaml", "-q"])
            outcomes[code] += 1
            if code:
                lines = said.splitlines()
                assert lines, text
                assert all(COMPLAINT.fullmatch(line) for line in lines), said
    assert len(server.jobs) == outcomes[0]
    assert min(outcomes.values()) > FILES // 10


SCRIPT = """#!/bin/bash
#SBATCH --job-name=train -N 2 --ntasks-per-node=4
#SBATCH --gres=gpu:h100:8 --cpus-per-task 16 --mem=512G -t 1-12:00:00
#SBATCH -A nlp/pretraining -p gpu --array=0-9%2 --dependency=afterok:12:13,afterany:14
#SBATCH --output=%x.out --export=ALL,FOO=bar --signal=B:USR1@60

srun -n 8 python train.py --rank $SLURM_PROCID
"""
NOTE_OR_COMPLAINT = re.compile(r"(?:muster: )?job\.sbatch:\d+: .+")


def test_every_changed_batch_script_is_submitted_or_refused_with_its_line(muster: Command, server: FakeServer) -> None:
    chance = random.Random(2026)
    outcomes = {0: 0, 2: 0}
    for _ in range(FILES // 10):
        Path("job.sbatch").write_text(with_noise(SCRIPT, chance), "utf-8")
        code, said = muster(["submit", "--sbatch", "job.sbatch", "-q"])
        outcomes[code] += 1
        assert all(NOTE_OR_COMPLAINT.fullmatch(line) for line in said.splitlines()), said
        assert said or not code
    assert len(server.jobs) == outcomes[0]
    assert min(outcomes.values()) > FILES // 100


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "muster: job.yaml: the file is empty"),
        ("[]", "muster: job.yaml:1: must be a mapping"),
        ("name: a\nrun: x\nworkers: none\n", "muster: job.yaml:3: workers: must be a number of workers"),
        ("name: a\nrun: x\nname: b\n", "muster: job.yaml:3: the key 'name' is given twice, on lines 1 and 3"),
        ("name: a\nrun: x\nenv: {NOT_SET: null}\n", "muster: job.yaml:3: env.NOT_SET: has no value"),
    ],
)
def test_a_complaint_names_file_line_and_field(muster: Command, server: FakeServer, text: str, complaint: str) -> None:
    Path("job.yaml").write_text(text, "utf-8")
    code, said = muster(["submit", "job.yaml"])
    assert code == 2
    assert said.startswith(complaint), said
    assert not server.requests
