"""What people who tried to break it have found."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import pytest
import torch

from muster.train import Checkpointer, restoring
from muster.train.errors import StateMismatch, UnwritableCheckpoint
from muster.train.notice_pipe import NoticePipe
from muster.train.store.places import places_of
from muster.train.surroundings import place_in_world, surroundings
from muster.train.uploader import Uploader
from tests.train.jobs import AJob, environment, job

__all__ = ["job"]


def an_uploader(job: AJob) -> Uploader:
    around = surroundings(job.environment())
    places = places_of(around, None)
    assert places is not None
    return Uploader(around, places, NoticePipe(str(job.notice)))


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_second_training_in_the_same_folder_saves_nothing_until_the_first_has_ended(
    tmp_path: Path, is_killed: bool
) -> None:
    script = (
        "import os, sys, time; from muster.train import Checkpointer\n"
        f"with Checkpointer({str(tmp_path)!r}) as checkpoints:\n"
        "    checkpoints.save(1, {'from': 'the first'}).wait()\n"
        "    loader = os.fork()\n"
        "    time.sleep(60 * (not loader))\n"
        "    print(loader, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=PIPE, stdout=PIPE) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        loader = int(first.stdout.readline())
        with environment({}), Checkpointer(str(tmp_path)) as second:
            with pytest.raises(UnwritableCheckpoint, match="another process saves to"):
                second.save(1, {"from": "the second"}).wait()
            if is_killed:
                first.kill()
            first.stdin.close()
            first.wait()
            state = {"from": ""}
            assert second.restore(state) == 1
            assert state == {"from": "the first"}
            second.save(2, {"from": "the second"}).wait()  # although what the first one has forked still lives
            os.kill(loader, signal.SIGKILL)


def test_a_save_that_an_uploader_sees_before_its_first_part_is_uploaded_later(job: AJob) -> None:
    uploader = an_uploader(job)
    (job.hot_folder() / "step-000000000001").mkdir(parents=True)
    assert uploader.look(0)
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.save(1, {"w": np.ones(3)}).wait()
    uploader.look(1)
    assert uploader.is_complete
    assert (job.durable / "step-000000000001" / "manifest.json").exists()


def test_parameters_are_restored_in_place(tmp_path: Path) -> None:
    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"p": torch.nn.Parameter(torch.ones(3))}).wait()
    parameter = torch.nn.Parameter(torch.zeros(3))
    state = {"p": parameter}
    with Checkpointer(str(tmp_path)) as checkpoints:
        assert checkpoints.restore(state) == 1
    assert state["p"] is parameter
    assert parameter.tolist() == [1, 1, 1]
    with Checkpointer(str(tmp_path)) as checkpoints, pytest.raises(StateMismatch, match="shape"):
        checkpoints.restore({"p": torch.nn.Parameter(torch.zeros(4))})


def test_the_memory_of_the_first_save_is_there_before_it(tmp_path: Path) -> None:
    model = torch.nn.Linear(300, 300)
    optimizer = torch.optim.AdamW(model.parameters())
    state = {"model": model, "optimizer": optimizer, "average": np.zeros(1000)}
    with environment({}), Checkpointer(str(tmp_path), every=1000) as checkpoints:
        checkpoints.restore(state)
        model(torch.ones(300)).sum().backward()
        optimizer.step()
        checkpoints.step(1, state)
        saver = checkpoints._saver
        assert saver is not None
        reserved = dict(saver._staging._buffers)
        checkpoints.save(2, state).wait()
        assert sum(each.nbytes for each in reserved.values()) >= 3 * 300 * 300 * 4
        assert {name: id(each) for name, each in saver._staging._buffers.items()} == {
            name: id(each) for name, each in reserved.items()
        }


def test_steps_may_be_whole_numbers_of_any_kind(tmp_path: Path) -> None:
    with Checkpointer(str(tmp_path), every=2) as checkpoints:
        for step in np.arange(1, 5):
            assert checkpoints.step(step, {"w": np.ones(3)})  # type: ignore[arg-type]
        checkpoints.save(torch.tensor(9), {"w": np.ones(3)}).wait()  # type: ignore[arg-type]
    assert checkpoints.last == 9
    with Checkpointer(str(tmp_path / "other")) as checkpoints:
        for wrong, kind in ((1.5, TypeError), ("3", TypeError), (-1, ValueError), (2**63, ValueError)):
            with pytest.raises(kind, match="step"):
                checkpoints.step(wrong, {})  # type: ignore[arg-type]


def test_the_newest_checkpoint_is_the_one_with_the_highest_step(tmp_path: Path) -> None:
    with Checkpointer(str(tmp_path)) as checkpoints:
        for step in (4, 9, 7):
            checkpoints.save(step, {"w": np.ones(3)}).wait()
    assert checkpoints.last == 9
    with Checkpointer(str(tmp_path)) as checkpoints:
        assert checkpoints.restore({"w": np.zeros(3)}) == 9
        assert checkpoints.last == 9


def test_a_save_that_failed_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from muster.train import saving  # noqa: PLC0415

    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"w": np.ones(3)}).wait()
        monkeypatch.setattr(saving, "encode_part", _disk_is_full)
        with pytest.raises(UnwritableCheckpoint, match="No space"):
            checkpoints.save(2, {"w": np.ones(3)}).wait()
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["step-000000000001"]


def _disk_is_full(*_: Any) -> bytes:
    raise OSError(28, "No space left on device")


def test_storage_that_cannot_be_reached_is_waited_for(
    job: AJob, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(restoring, "STORAGE_LOOK_S", 0)
    troubles = [ConnectionError("no answer"), ConnectionError("no answer")]

    def read() -> str:
        if troubles:
            raise troubles.pop()
        return "here"

    assert restoring._patiently(read) == "here"
    assert capsys.readouterr().err.count("waits for it") == 1
    monkeypatch.setattr(restoring, "STORAGE_S", -1)
    troubles.append(ConnectionError("no answer"))
    with pytest.raises(UnwritableCheckpoint, match="no answer"):
        restoring._patiently(read)


@pytest.mark.parametrize("every", ["auto", None])
def test_as_often_as_muster_thinks_best_may_be_said(every: str | None, tmp_path: Path) -> None:
    with Checkpointer(str(tmp_path), every=every) as checkpoints:
        assert checkpoints.step(1, {"w": random.random()})


@pytest.mark.parametrize("arguments", [{"every": True}, {"keep": "3"}, {"keep": 2.5}, {"keep": 0}])
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError)):
        Checkpointer(str(tmp_path), **arguments)


def test_a_batch_script_of_slurm_is_one_process_and_a_task_of_its_step_one_of_many() -> None:
    batch = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
    assert place_in_world(batch) == (0, 1)
    assert place_in_world({**batch, "SLURM_PROCID": "2", "SLURM_STEP_ID": "0"}) == (2, 4)
