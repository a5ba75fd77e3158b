"""Which checkpoint a training resumes from, and what becomes of damaged ones and of those of others."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer, Shard
from muster.train.board import Board
from muster.train.errors import (
    DamagedCheckpoint,
    ForeignCheckpoint,
)
from tests.train.jobs import AJob, a_state, environment, flipped, job

__all__ = ["job"]

UPLOADER = [sys.executable, "-m", "muster.train.uploader", "--until-idle"]


def test_the_step_of_the_control_plane_is_restored_and_no_other(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        for step in (5, 10):
            checkpoints.save(step, a_state(step)).wait()
    state = a_state()
    with environment(job.environment(restart=1, step=5)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 5
        assert job.board().step == 5
    assert (state["weights"] == 5).all()


def test_a_gang_that_was_formed_anew_restores_the_newest_that_it_has_saved_since(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        for step in (5, 10):
            checkpoints.save(step, {"step": step}).wait()
    state = {"step": 0}
    with environment(job.environment(step=5)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 5, "this process has a board of its own, and no other has ended"
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    Board.make(str(job.boards), 7, 8)._words[1] = int(ended.stdout)
    with environment(job.environment(step=5)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 10
    assert state == {"step": 10}


def test_what_is_damaged_in_all_places_is_reported(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.save(5, a_state()).wait()
    flipped(job.hot_folder() / "step-000000000005" / "values-00000.bin", 100)
    with environment(job.environment(restart=1, step=5)), Checkpointer() as checkpoints:
        with pytest.raises(DamagedCheckpoint, match=r"values-00000.bin cannot be restored .*its checksum differs"):
            checkpoints.restore(a_state())
        (damage,) = job.told("damaged")
    assert (damage["step"], damage["rank"]) == (5, 0)


def test_ranks_that_agree_take_an_older_checkpoint_and_say_which_is_damaged(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        for step in (5, 10):
            checkpoints.save(step, a_state(step)).wait()
    flipped(job.hot_folder() / "step-000000000010" / "values-00000.bin", 100)
    job.notices()
    state = a_state()
    with environment(job.environment(restart=1, step=10)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 5
    assert (state["weights"] == 5).all()
    [told] = job.told("damaged")
    assert (told["step"], told["rank"], told["replaced"]) == (10, 0, True)


def test_another_node_has_a_copy_of_what_is_damaged_here(job: AJob, capsys: pytest.CaptureFixture[str]) -> None:
    with environment(job.environment(node="n2")), Checkpointer() as checkpoints:
        checkpoints.save(5, a_state(5)).wait()
    copy = job.hot_folder("n1") / "step-000000000005"
    copy.mkdir(parents=True)
    (copy / "values-00000.bin").write_bytes(b"torn")
    state = a_state()
    with environment(job.environment(step=5)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 5
    assert (state["weights"] == 5).all()
    assert "is truncated (4 of" in capsys.readouterr().err


def test_outside_the_checkpoint_before_a_damaged_one_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = a_state()
    with environment({}), Checkpointer(str(tmp_path)) as checkpoints:
        for step in (5, 10):
            checkpoints.save(step, a_state(step)).wait()
        flipped(tmp_path / "step-000000000010" / "values-00000.bin", 7)
        assert checkpoints.restore(state) == 5
    assert (state["weights"] == 5).all()
    assert "step 10 cannot be restored, so the checkpoint before it is taken" in capsys.readouterr().err


def test_checkpoints_of_another_run_are_refused_until_they_are_asked_for(job: AJob) -> None:
    variables = job.environment()
    del variables["MUSTER_HOT"]
    with environment(variables), Checkpointer() as checkpoints:
        checkpoints.save(5, a_state(5)).wait()
    state = a_state()
    other = {**variables, "MUSTER_RUN_ID": "run-2"}
    with environment(other), Checkpointer() as checkpoints:
        with pytest.raises(ForeignCheckpoint, match=r"another path, or put MUSTER_RESUME_RUN=run-1 into `env`"):
            checkpoints.restore(state)
        with pytest.raises(ForeignCheckpoint):
            checkpoints.save(6, state).wait()
    with environment({**other, "MUSTER_RESUME_RUN": "run-1"}), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 5
        checkpoints.save(7, state).wait()
    with environment(variables), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 5


def test_a_run_that_is_to_go_on_from_another_one_fails_by_itself_when_nothing_of_that_is_whole(job: AJob) -> None:
    variables = job.environment()
    del variables["MUSTER_HOT"]
    with environment(variables), Checkpointer() as checkpoints:
        checkpoints.save(5, a_state(5)).wait()
    other = {**variables, "MUSTER_RUN_ID": "run-2", "MUSTER_RESUME_RUN": "run-1"}
    for name in ("values-00000.bin", "rank-00000-of-00001.json", "manifest.json"):
        flipped(job.durable / "step-000000000005" / name, 7)
        failed = pytest.raises(DamagedCheckpoint, match="there is nothing to go on from in the run run-1")
        with environment(other), Checkpointer() as checkpoints, failed:
            checkpoints.restore(a_state())
    # A fault of the nodes would be tried fifty times, and each time for nothing.
    assert job.told("damaged") == []


def test_four_ranks_become_three_and_shards_are_cut_anew(job: AJob) -> None:
    whole = np.arange(20).reshape(10, 2)
    for rank, part in enumerate(np.array_split(whole, 4)):
        with environment(job.environment(rank, 4)), Checkpointer() as checkpoints:
            checkpoints.save(1, {"mine": Shard(part), "rank": rank}).wait()
    parts = []
    for rank in range(6):
        state: dict[str, Any] = {"mine": Shard(np.zeros((1, 2), dtype=int)), "rank": None}
        with environment(job.environment(rank, 6, step=1)), Checkpointer() as checkpoints:
            assert checkpoints.restore(state) == 1
        assert state["rank"] == rank % 4
        parts.append(state["mine"].array)
    assert [len(part) for part in parts] == [2, 2, 2, 2, 1, 1]
    assert (np.concatenate(parts) == whole).all()


def test_the_last_step_is_one_that_all_ranks_have_saved(tmp_path: Path) -> None:
    known = []
    for rank in range(2):
        with environment({"RANK": str(rank), "WORLD_SIZE": "2"}), Checkpointer(str(tmp_path), every=9) as checkpoints:
            checkpoints.save(1, a_state()).wait()
            known.append(checkpoints.last)
    assert known == [None, 1]


def test_parts_of_two_attempts_are_never_one_checkpoint(job: AJob) -> None:
    for rank, restart in ((0, 0), (1, 1)):
        with environment(job.environment(rank, 2, restart=restart)), Checkpointer() as checkpoints:
            checkpoints.save(1, a_state()).wait()
    assert not (job.hot_folder() / "step-000000000001" / "manifest.json").exists()
    with environment(job.environment(0, 2, restart=1)), Checkpointer() as checkpoints:
        checkpoints.save(1, a_state()).wait()
    assert (job.hot_folder() / "step-000000000001" / "manifest.json").exists()


def with_all_damaged(job: AJob) -> None:
    for step in (1, 2):
        with environment(job.environment()), Checkpointer() as checkpoints:
            checkpoints.save(step, {"weights": np.full(4, step)}).wait()
        assert (
            subprocess.run(
                UPLOADER, env={**os.environ, **job.environment(), "MUSTER_BOARDS": ""}, check=False
            ).returncode
            == 0
        )
    for path in [*job.durable.rglob("values-*"), *job.hot_folder().rglob("values-*")]:
        flipped(path, 300)
    job.notices()


def test_a_later_attempt_that_was_told_no_step_begins_from_the_start_when_all_are_damaged(job: AJob) -> None:
    with_all_damaged(job)
    state = {"weights": np.zeros(4, dtype=int)}
    with environment(job.environment(restart=2)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 0
    assert not state["weights"].any()
    (told,) = job.told("damaged")
    assert (told["step"], told["replaced"]) == (2, True)
    assert "checksum" in told["problem"]


def test_a_later_attempt_that_was_told_no_step_takes_an_intact_one_all_the_same(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.save(1, {"weights": np.full(4, 1)}).wait()
    assert (
        subprocess.run(UPLOADER, env={**os.environ, **job.environment(), "MUSTER_BOARDS": ""}, check=False).returncode
        == 0
    )
    state = {"weights": np.zeros(4, dtype=int)}
    with environment(job.environment(restart=2)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 1


def test_that_no_checkpoint_can_be_restored_is_told_as_damage_and_no_error_of_the_program(job: AJob) -> None:
    with_all_damaged(job)
    with environment(job.environment()), Checkpointer() as checkpoints, pytest.raises(DamagedCheckpoint):
        checkpoints.restore({"weights": np.zeros(4, dtype=int)})
    (told,) = job.told("damaged")
    assert told["step"] == 2
    assert "replaced" not in told
