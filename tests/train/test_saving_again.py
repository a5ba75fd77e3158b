"""A step that is saved again, and a training that begins anew below what is there."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer, saving
from muster.train.errors import DamagedCheckpoint, UnwritableCheckpoint
from muster.train.store import claims, replacing
from muster.train.store.inventory import Inventory
from tests.train.jobs import AJob, environment, flipped, job, steps_of
from tests.train.ranks import Ranks

__all__ = ["job"]

SAVES = """
import numpy, sys
from muster.train import Checkpointer
with Checkpointer(*sys.argv[1:], keep=1) as checkpoints:
    checkpoints.save(20, {"value": numpy.full(1000, 2)}).wait()
"""
POINTS = (
    "save.before-files",
    "save.after-shared",
    "save.before-part",
    "save.after-part",
    "replace.before",
    "replace.between-moves",
    "replace.after",
    "manifest.before",
    "manifest.after",
)


@pytest.fixture(scope="module")
def in_ranks() -> Iterator[Ranks]:
    ranks = Ranks()
    yield ranks
    ranks.close()


def restored(path: Path) -> tuple[int, int]:
    """The step that is restored outside Muster, and what was saved there."""
    state = {"value": np.zeros(1000, dtype=int)}
    with environment({}), Checkpointer(str(path)) as checkpoints:
        step = checkpoints.restore(state)
    assert len(set(state["value"].tolist())) == 1
    return step, int(state["value"][0])


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("point", POINTS)
def test_a_crash_while_a_step_is_saved_again_leaves_one_of_the_two(point: str, exchanges: bool, tmp_path: Path) -> None:
    with environment({}), Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(20, {"value": np.full(1000, 1)}).wait()
    while claims._claimed:
        os.close(claims._claimed.popitem()[1][1])
    script = SAVES
    if not exchanges:
        script = "from muster.train.store import replacing\nreplacing._exchanged = lambda *_: False\n" + SAVES
    variables = {name: each for name, each in os.environ.items() if not name.startswith("MUSTER_")}
    around = {**variables, "MUSTER_FAILPOINTS": f"{point}=kill@1"}
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=around, check=False, timeout=60)
    if point == "replace.between-moves" and exchanges:
        assert done.returncode == 0
    else:
        assert done.returncode == -signal.SIGKILL
    step, value = restored(tmp_path)
    assert step == 20
    is_replaced = point in ("replace.between-moves", "replace.after") or point.startswith("manifest.")
    assert value == (2 if is_replaced else 1)


def test_a_full_disk_leaves_the_checkpoint_that_is_saved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with environment({}), Checkpointer(str(tmp_path), keep=1) as checkpoints:
        checkpoints.save(20, {"value": np.full(1000, 1)}).wait()
        with monkeypatch.context() as full:
            full.setattr(saving, "pieces", _full_disk)
            with pytest.raises(UnwritableCheckpoint, match="No space left"):
                checkpoints.save(20, {"value": np.full(1000, 2)}).wait()
        assert restored(tmp_path) == (20, 1)
        checkpoints.save(20, {"value": np.full(1000, 3)}).wait()
    assert restored(tmp_path) == (20, 3)
    assert not (tmp_path / replacing.AGAIN).exists()


def _full_disk(*_: Any) -> list[bytes]:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_cannot_be_saved_leaves_the_checkpoint_that_is_there(tmp_path: Path) -> None:
    with environment({}), Checkpointer(str(tmp_path), keep=1) as checkpoints:
        checkpoints.save(20, {"value": np.full(1000, 1)}).wait()
        checkpoints.save(20, {"value": lambda: 0})
        checkpoints.close()
    assert restored(tmp_path) == (20, 1)


def test_a_step_is_saved_again_in_a_hot_tier_and_told(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        for value in (1, 2):
            checkpoints.save(3, {"value": np.full(9, value)}).wait()
    with environment(job.environment(step=3, restart=1)), Checkpointer() as checkpoints:
        state = {"value": np.zeros(9, dtype=int)}
        assert checkpoints.restore(state) == 3
    assert state["value"].tolist() == [2] * 9
    assert sum(line.startswith("shard ") for line in job.notices()) == 2


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_ranks_save_a_step_again_together(kind: str, tmp_path: Path, in_ranks: Ranks) -> None:
    (answers,) = in_ranks({"call": "save_again", "world": 2, "kind": kind, "path": str(tmp_path)})
    assert answers == [{"restored": 1, "value": "new", "is_equal": True}] * 2
    found = Inventory(str(tmp_path)).verify(1)
    assert found is not None
    assert found.verified


def test_ranks_that_save_different_steps_are_told_and_save_together_again(tmp_path: Path, in_ranks: Ranks) -> None:
    (answers,) = in_ranks({"call": "different_steps", "world": 2, "path": str(tmp_path)})
    differ = "all ranks must save the same step, and rank 0 saves step 5, rank 1 saves step 6"
    behind = "another rank had gone on to step 6 before this one saved step 6"
    assert [answer["heard"] for answer in answers] == [[differ, behind], [differ]]
    assert [(answer["last"], answer["at_the_end"]) for answer in answers] == [(1, 9), (1, 9)]
    assert steps_of(tmp_path) == [1, 9]


def test_a_training_that_begins_anew_below_keeps_what_it_saves(tmp_path: Path) -> None:
    for end in (100, 50):
        with environment({}), Checkpointer(str(tmp_path), every=10, keep=2) as checkpoints:
            for step in range(1, end + 1):
                checkpoints.step(step, {"of": end})
    assert sorted(steps_of(tmp_path)) == [40, 50, 90, 100]


def test_damaged_checkpoints_push_no_good_ones_out(tmp_path: Path) -> None:
    def train(begin: int, end: int) -> None:
        for step in range(begin, end + 1):
            checkpoints.step(step, {"value": np.full(1000, step)})
        checkpoints.close()

    with environment({}), Checkpointer(str(tmp_path), every=10, keep=2) as checkpoints:
        train(1, 40)
    for step in (30, 40):
        flipped(tmp_path / f"step-{step:012d}" / "values-00000.bin", 500)
    with environment({}), Checkpointer(str(tmp_path), every=10, keep=2) as checkpoints:
        with pytest.raises(DamagedCheckpoint):
            checkpoints.restore({"value": np.zeros(1000, dtype=int)})
        train(1, 25)
    assert restored(tmp_path) == (20, 20)
    assert {10, 20} <= set(steps_of(tmp_path))
    with environment({}), Checkpointer(str(tmp_path), every=10, keep=2) as checkpoints:
        assert checkpoints.restore({"value": np.zeros(1000, dtype=int)}) == 20
        checkpoints.save(45, {"value": np.full(1000, 45)}).wait()
    assert {20, 45} <= set(steps_of(tmp_path))
    assert restored(tmp_path) == (45, 45)
