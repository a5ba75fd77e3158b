"""A crash at any point of a save or an upload never leaves a job without a complete checkpoint."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer
from muster.train.store.inventory import Inventory
from tests.train.jobs import AJob, environment, job

__all__ = ["job"]

ROOT = Path(__file__).parents[2]

TRAINING = """
import numpy
from muster.train import Checkpointer
state = {"weights": numpy.zeros(1000), "step": 0}
with Checkpointer(every=1) as checkpoints:
    step = checkpoints.restore(state)
    assert state["step"] == step and (state["weights"] == step).all()
    while step < 6:
        step += 1
        state["weights"] += 1
        state["step"] = step
        checkpoints.step(step, state)
"""

POINTS = sorted(
    {
        name
        for file in (ROOT / "src" / "muster" / "train").rglob("*.py")
        for name in re.findall(r'failpoint\("([\w.-]+)"\)', file.read_text("utf-8"))
        if not name.startswith("replace.")  # reached only when a step is saved again: see test_saving_again.py
    }
)
TIMES = (1, 2, 3, 4, 5)
UPLOADER = ["-m", "muster.train.uploader", "--until-idle"]


def ran(job: AJob, command: list[str], failpoint: str, **variables: str) -> int:
    surroundings = {**job.environment(), "MUSTER_BOARDS": "", "MUSTER_NEIGHBOUR": "n2", "MUSTER_FAILPOINTS": failpoint}
    around = {**os.environ, **surroundings, **variables}
    return subprocess.run([sys.executable, *command], env=around, check=False, timeout=60).returncode


def test_there_are_places_to_crash_at() -> None:
    assert len(POINTS) >= 10
    assert [point for point in POINTS if point.startswith("save.")] != []
    assert [point for point in POINTS if point.startswith("upload.")] != []


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_anywhere_leaves_a_complete_checkpoint_to_go_on_from(point: str, job: AJob) -> None:
    """Train, then upload, with a crash in one of them; then all is done again without one."""
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.save(1, {"weights": np.ones(1000), "step": 1}).wait()
    assert ran(job, UPLOADER, "") == 0
    crashes = 0
    for times in TIMES:
        around = {"MUSTER_CHECKPOINT_STEP": str(newest(job)), "MUSTER_RESTART": str(times)}
        codes = []
        if not point.startswith("upload."):
            codes.append(ran(job, ["-c", TRAINING], f"{point}=kill@{times}", **around))
        else:
            with environment({**job.environment(), **around}), Checkpointer() as checkpoints:
                checkpoints.save(newest(job) + 1, {"weights": np.full(1000, newest(job) + 1), "step": 0}).wait()
        if not point.startswith("save."):
            codes.append(ran(job, UPLOADER, f"{point}=kill@{times % 2 + 1}"))
        assert set(codes) <= {0, -signal.SIGKILL}
        crashes += sum(code != 0 for code in codes)
        assert newest(job) >= 1
    assert crashes
    assert ran(job, UPLOADER, "") == 0
    found = Inventory(str(job.durable)).verify(newest(job))
    assert found is not None
    assert found.verified


def newest(job: AJob) -> int:
    """The newest complete checkpoint in any place, which can be restored."""
    inventory = Inventory(str(job.durable), [str(job.hot_folder())], run=job.run)
    step = max(each.step for each in inventory.checkpoints() if each.complete)
    state: dict[str, Any] = {"weights": np.zeros(1000), "step": 0}
    with environment(job.environment(step=step)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == step
    assert (state["weights"] == step).all()
    return step


def test_a_full_disk_is_said_and_the_last_checkpoint_stays(tmp_path: Path) -> None:
    program = f"""
import resource, numpy
from muster.train import Checkpointer
with Checkpointer({str(tmp_path)!r}, every=1) as checkpoints:
    assert checkpoints.step(1, {{"weights": numpy.ones(10)}})
    checkpoints._saver.finish()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    assert checkpoints.step(2, {{"weights": numpy.ones(1_000_000)}})
    assert checkpoints.step(3, {{"weights": numpy.ones(1_000_000)}})
    checkpoints._saver.finish()
    state = {{"weights": numpy.zeros(10)}}
    assert checkpoints.restore(state) == 1 and state["weights"].all()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("File too large") == 2
    assert "Training goes on, and checkpoints before it stay" in ended.stderr
