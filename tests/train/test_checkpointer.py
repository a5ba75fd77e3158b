"""What user code sees of `Checkpointer` inside a job, and what the supervisor sees of user code."""

import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer, Shard
from muster.train.board import CANCELLED, CLOSED, COMMITTED, LEAVE, LEFT, OPEN, SAVE, WAITS, Board
from muster.train.errors import (
    DamagedCheckpoint,
    ForeignCheckpoint,
    StateMismatch,
    UnsavableState,
    UnwritableCheckpoint,
)
from tests.train.jobs import AJob, Desk, environment, flipped, job, until

__all__ = ["job"]


def a_state(value: float = 0.0) -> dict[str, Any]:
    return {"weights": np.full(4, value), "extra": {"epoch": 0}}


def steps_of(folder: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*"))


def test_the_five_lines_survive_outside_muster(tmp_path: Path) -> None:
    with environment({}):
        for expected in (0, 4):
            state = a_state()
            with Checkpointer(f"file://{tmp_path}/ck", every=2, keep=1) as checkpoints:
                step = checkpoints.restore(state)
                assert step == expected
                assert (state["weights"] == step).all()
                assert state["extra"]["epoch"] == step
                for _ in range(5):
                    step += 1
                    state["weights"] += 1
                    state["extra"]["epoch"] = step
                    assert checkpoints.step(step, state, loss=1.0)
            assert checkpoints.last == step - step % 2
    assert steps_of(tmp_path / "ck") == [8]


def test_every_plain_value_comes_back_as_it_was(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    odd = {"nan": float("nan"), "inf": float("-inf"), "tuple": (1, [2, (3,)]), 5: "five", "$": 1, "bytes": b"\0\xff"}
    arrays: dict[str, Any] = {
        "scalar": np.float32(1.5),
        "empty": np.empty((0, 3)),
        "none": np.array(7),
        "named": np.zeros(2, dtype=[("a", "<i4"), ("b", "<f8")]),
        "bool": np.array([True, False]),
        "turned": np.arange(6).reshape(2, 3).T,
    }
    kept = {"odd": odd, "arrays": arrays, "python": random.getstate(), "numpy": generator.bit_generator.state}
    with environment({}), Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, kept).wait()
        blank: dict[str, Any] = {"odd": {}, "arrays": {}, "python": None, "numpy": None}
        assert checkpoints.restore(blank) == 1
    assert repr(blank["odd"]) == repr(odd)
    assert blank["python"] == random.getstate()
    random.setstate(blank["python"])
    assert blank["numpy"] == generator.bit_generator.state
    for name, array in arrays.items():
        assert blank["arrays"][name].dtype == array.dtype
        assert blank["arrays"][name].shape == array.shape
        assert (blank["arrays"][name] == array).all()


def test_the_supervisor_hears_of_the_board_the_shard_and_the_metrics(job: AJob) -> None:
    with environment(job.environment(rank=1, world=2)), Checkpointer() as checkpoints:
        assert checkpoints.restore(a_state()) == 0
        for step in range(1, 4):
            assert checkpoints.step(step, a_state(), loss=np.float64(2.5), name="x", bad=float("nan"), odd=object())
        checkpoints.save(3, a_state()).wait()
        board = job.board(1)
        assert (board.pid, board.rank, board.world, board.step) == (os.getpid(), 1, 2, 3)
        assert board.steps_recorded == 3
        lines = job.notices()
    assert lines[0] == "board 1"
    assert lines[1] == f"stacks 1 {os.getpid()} SIGUSR2"
    word, _, fields = lines[2].partition(" ")
    assert (word, json.loads(fields)) == ("metrics", {"step": 1, "loss": 2.5, "name": "x", "bad": None})
    shard = json.loads(lines[3].removeprefix("shard "))
    assert {**shard, "bytes": 0, "cost_ms": 0} == {"step": 3, "rank": 1, "world": 2, "bytes": 0, "cost_ms": 0}
    assert len(lines) == 4
    assert board.flags & CLOSED
    assert (job.hot_folder() / "step-000000000003" / "rank-00001-of-00002.json").exists()


def test_a_committed_announcement_is_saved_once_and_repeated(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.restore(a_state())
        checkpoints.step(1, a_state())
        Desk(job.board()).announce(3, every=4)
        for step in range(2, 13):
            assert checkpoints.step(step, a_state())
    assert [shard["step"] for shard in job.told("shard")] == [3, 7, 11]


def test_a_cancelled_announcement_and_an_open_one_that_is_never_decided_save_nothing(
    job: AJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.train.checkpointer.DECISION_S", 0.01)
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.restore(a_state())
        desk = Desk(job.board())
        desk.announce(2, state=CANCELLED)
        assert checkpoints.step(2, a_state())
        number = desk.announce(4, state=OPEN, every=3)
        assert checkpoints.step(4, a_state())
        assert checkpoints.step(5, a_state())
        # The others have saved at step 4, and save again at 7: this rank does too.
        desk.board.decide(number, COMMITTED)
        for step in (6, 7, 8):
            assert checkpoints.step(step, a_state())
    assert [shard["step"] for shard in job.told("shard")] == [7]


def test_a_rank_waits_at_an_open_announcement_for_the_decision(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.restore(a_state())
        desk = Desk(job.board())
        number = desk.announce(2, state=OPEN)

        def decide() -> None:
            until(lambda: desk.board.flags & WAITS)
            desk.board.decide(number, COMMITTED)

        decider = threading.Thread(target=decide)
        decider.start()
        assert checkpoints.step(2, a_state())
        decider.join()
        assert not desk.board.flags & WAITS
    assert [shard["step"] for shard in job.told("shard")] == [2]


def test_an_announcement_behind_a_newer_one_is_not_lost(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.restore(a_state())
        desk = Desk(job.board())
        desk.announce(3)
        desk.announce(5, kind=LEAVE)
        assert [checkpoints.step(step, a_state()) for step in range(1, 6)] == [True, True, True, True, False]
    assert [shard["step"] for shard in job.told("shard")] == [3, 5]


def test_leaving_saves_first_and_says_so(job: AJob) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.restore(a_state())
        Desk(job.board()).announce(2, kind=LEAVE)
        assert checkpoints.step(1, a_state())
        assert not job.board().flags & LEFT
        assert not checkpoints.step(2, a_state())
        assert job.board().flags & LEFT
        assert [shard["step"] for shard in job.told("shard")] == [2]
        assert not checkpoints.step(3, a_state())
        assert job.told("shard") == []


def test_a_rank_that_cannot_save_does_not_leave(job: AJob, capsys: pytest.CaptureFixture[str]) -> None:
    with environment(job.environment()), Checkpointer() as checkpoints:
        checkpoints.restore(a_state())
        Desk(job.board()).announce(1, kind=LEAVE)
        assert checkpoints.step(1, {"socket": object()})
        assert not job.board().flags & LEFT
    assert "state['socket'] is a object, which cannot be saved" in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"model": {"deep": [1, {2}]}}, "state['model']['deep']['1'] is a set"),
        ({"objects": np.array([object()])}, "state['objects']: an array of Python objects"),
        ([1], "the state is a list"),
    ],
)
def test_what_cannot_be_saved_is_named_and_training_goes_on(
    tmp_path: Path, state: Any, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with environment({}), Checkpointer(str(tmp_path), every=1) as checkpoints:
        checkpoints.save(1, a_state()).wait()
        assert checkpoints.step(2, state)
        assert checkpoints.step(3, state)
        with pytest.raises(UnsavableState) as raised:
            checkpoints.save(4, state).wait()
        assert problem in str(raised.value)
        assert checkpoints.restore(a_state()) == 1
    assert capsys.readouterr().err.count(problem) == 1


def test_a_path_that_cannot_be_written_is_said_and_training_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with environment({}), Checkpointer(str(tmp_path / "file" / "ck"), every=1) as checkpoints:
        assert checkpoints.step(1, a_state())
        with pytest.raises(UnwritableCheckpoint, match="cannot be written: NotADirectoryError"):
            checkpoints.save(2, a_state()).wait()
    assert "Training goes on" in capsys.readouterr().err


def test_a_state_of_another_shape_is_no_damage(tmp_path: Path) -> None:
    class Counter:
        def state_dict(self) -> dict[str, int]:
            return {"count": 1}

        def load_state_dict(self, state: dict[str, int]) -> None:
            raise StateMismatch(f"not mine: {state}")

    with environment({}), Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"counter": Counter()}).wait()
        with pytest.raises(StateMismatch):
            checkpoints.restore({"counter": Counter()})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"keep": 0}, "at least one checkpoint is kept"),
        ({"every": "soon"}, "write a time such as"),
        ({"every": 0}, "at least one step"),
        ({"path": "file://host/x"}, "three slashes"),
        ({"path": None}, "outside Muster, say where checkpoints go"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments: dict[str, Any], problem: str) -> None:
    with environment({}), pytest.raises(ValueError, match=problem):
        Checkpointer(**{"path": "ck", **arguments})


def test_a_job_without_a_path_trains_and_says_that_nothing_is_saved(
    job: AJob, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = {name: value for name, value in job.environment().items() if "HOT" not in name and "PATH" not in name}
    with environment(variables), Checkpointer() as checkpoints:
        assert checkpoints.restore(a_state()) == 0
        assert checkpoints.step(1, a_state())
        with pytest.raises(UnwritableCheckpoint, match="no checkpoint path"):
            checkpoints.save(1, a_state()).wait()
        assert job.board().step == 1
    assert "nothing is saved" in capsys.readouterr().err


def test_an_older_supervisor_asks_by_a_file(job: AJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.train.own_clock.ASKED_NS", 0)
    ask = job.root / "ask"
    variables = {**job.environment(), "MUSTER_CHECKPOINT_ASK": str(ask)}
    del variables["MUSTER_BOARDS"]
    with environment(variables), Checkpointer(every="1h") as checkpoints:
        assert checkpoints.step(1, a_state())
        ask.touch()
        assert checkpoints.step(2, a_state())
        assert not ask.exists()
        assert checkpoints.step(3, a_state())
    lines = job.notices()
    assert [line.split()[0] for line in lines] == ["shard", "saved"]


def test_a_single_process_saves_by_its_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with environment({}), Checkpointer(str(tmp_path), every="10ms") as checkpoints:
        for step in range(1, 5):
            threading.Event().wait(0.02)
            assert checkpoints.step(step, a_state())
    assert checkpoints.last is not None


def test_several_processes_without_a_way_to_agree_are_told_what_to_do(tmp_path: Path) -> None:
    with environment({"RANK": "0", "WORLD_SIZE": "2"}):
        checkpoints = Checkpointer(str(tmp_path), every="5m")
        with pytest.raises(ValueError, match="give every= as a number of steps"):
            checkpoints.step(1, a_state())


def test_the_board_of_a_process_without_a_supervisor_is_its_own() -> None:
    with environment({}), Checkpointer("unused", every=1000) as checkpoints:
        assert checkpoints.step(1, a_state())
        assert isinstance(checkpoints._board, Board)
        assert checkpoints._board.steps_recorded == 1
    assert SAVE == 1
