"""Checkpoints of a job are damaged in all places: it takes the one before, says so, and at last begins anew."""

import json
import os
import sys
from glob import glob
from pathlib import Path

from muster.worker.launch.runtime_folder import hot_folder
from tests.e2e.conftest import Shell, eventually

TRAIN = """
import os, sys, time
from pathlib import Path
from muster.train import Checkpointer

folder, attempt, rank = Path(sys.argv[1]), os.environ["MUSTER_ATTEMPT"], os.environ["MUSTER_RANK"]
state = {"total": 0}
with Checkpointer() as checkpoints:
    first = checkpoints.restore(state)
    assert state["total"] == first
    for step in range(first + 1, first + 3):
        state["total"] = step
        checkpoints.save(step, state).wait()
    with open(folder / "ledger", "a") as ledger:
        ledger.write(f"{attempt} {rank} {first}\\n")
    while not (folder / "end").exists():
        if (folder / f"crash-{attempt}").exists():
            os._exit(1)
        time.sleep(0.1)
"""

JOB = """
name: train
workers: 2
resources: {{gpus: 4}}
max_duration: 1h
checkpoint: {{path: {folder}/saved, every: 1h}}
retry: {{limit: 2}}
env: {{PYTHONPATH: "{path}", MUSTER_RESUME_RUN: "{resume}"}}
run: {python} {folder}/train.py {folder}
"""


def began(shell: Shell) -> dict[int, set[int]]:
    """The steps at which the ranks of each attempt that trained have begun; those of whole gangs."""
    ledger = shell.folder / "ledger"
    lines = [tuple(map(int, line.split())) for line in ledger.read_text().splitlines()] if ledger.exists() else []
    attempts = [attempt for attempt, _, _ in lines]
    return {each: {first for at, _, first in lines if at == each} for each in attempts if attempts.count(each) == 2}


def files(shell: Shell, *names: str) -> list[Path]:
    """All files of checkpoints with these names: in durable storage, on the nodes of their ranks, and their copies."""
    roots = (shell.folder / "saved", hot_folder(shell.home, shell.environment))
    # Not `rglob`, which fails when a folder is removed meanwhile.
    found = (glob(f"{root}/**/{name}", recursive=True) for root in roots for name in names)
    return [Path(path) for paths in found for path in paths]


def is_everywhere(shell: Shell, step: int) -> bool:
    """True when nobody copies this checkpoint any more: two parts and a manifest are in three places."""
    return (
        len(files(shell, f"step-{step:012}/rank-*")) == 6 and len(files(shell, f"step-{step:012}/manifest.json")) == 3
    )


def damage(shell: Shell, *names: str) -> None:
    """Put a wrong byte at the end of all these files, wherever they are. Twice is not intact either."""
    for path in files(shell, *names):
        path.write_bytes(path.read_bytes()[:-1] + b"\xff")


def crashed(shell: Shell, attempt: int) -> int:
    """Let the workers of an attempt crash; the next one that trains."""
    (shell.folder / f"crash-{attempt}").touch()
    found = eventually(lambda: [each for each in began(shell) if each > attempt], what=f"training after {attempt}")
    return found[0]


def submitted(shell: Shell, resume: str = "") -> str:
    path = os.pathsep.join(each for each in sys.path if each)
    file = JOB.format(folder=shell.folder, python=sys.executable, path=path, resume=resume)
    return shell.says("submit", "-", "-q", input=file).strip()


def test_a_job_whose_checkpoints_are_damaged_goes_back_and_begins_anew_when_none_is_left(shell: Shell) -> None:
    (shell.folder / "train.py").write_text(TRAIN)
    job = submitted(shell)
    eventually(lambda: 1 in began(shell) and is_everywhere(shell, 2), what="two checkpoints")

    damage(shell, "step-000000000002/*")
    second = crashed(shell, 1)
    assert began(shell)[second] == {1}
    eventually(lambda: is_everywhere(shell, 3), what="two more checkpoints")

    damage(shell, "values-*")
    third = crashed(shell, second)
    assert began(shell)[third] == {0}

    told = " ".join(shell.says("story", job).split())
    assert "cannot restore step 2" in told
    assert "it goes back to step 1" in told
    assert "no other checkpoint is left, so it begins from the start" in told
    assert json.loads(shell.says("show", job, "-o", "json"))["retries"] == 2
    (shell.folder / "end").touch()
    eventually(lambda: shell.is_in(job, "succeeded"), what="its end")

    # Another run is to go on from it, and nothing of it is whole: that fails soon, and says why.
    eventually(lambda: all(path.is_relative_to(shell.folder) for path in files(shell, "values-*")), what="empty nodes")
    damage(shell, "values-*")
    manifest = files(shell, "manifest.json")[0]
    other = submitted(shell, resume=json.loads(manifest.read_text())["parts"][0]["run"])
    eventually(lambda: shell.is_in(other, "failed"), what="its failure")
    # The worker that finds it first ends the other one.
    said = shell.says("logs", other, "--rank", "all")
    assert "there is nothing to go on from in the run" in said
    assert json.loads(shell.says("show", other, "-o", "json"))["retries"] == 2
