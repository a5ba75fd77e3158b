"""What user code sees of `Checkpointer` inside a job, and what the supervisor sees of user code."""

import json
import os
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer
from muster.train.board import CANCELLED, CLOSED, COMMITTED, LEAVE, LEFT, OPEN, SAVE, WAITS, Board
from muster.train.durations import seconds_of
from muster.train.durations import steps_of as steps_per_save
from muster.train.errors import (
    StateMismatch,
    UnsavableState,
    UnwritableCheckpoint,
)
from muster.train.store.stores import store_at
from tests.train.jobs import AJob, Desk, a_state, environment, job, steps_of, until

__all__ = ["job"]


def test_a_path_and_a_time_mean_what_was_written() -> None:
    paths = ("file:/ck/run", "FILE:///ck/run", "file://localhost/ck/run", "/ck/run")
    assert {store_at(path).root for path in paths} == {"/ck/run"}
    assert store_at("run:1").root == os.path.abspath("run:1")
    assert [seconds_of(every) for every in ("5 min", "90s", "1h30m", "1 h 30 min", "2.5h")] == [
        300,
        90,
        5400,
        5400,
        9000,
    ]
    assert (steps_per_save(300), seconds_of(300)) == (300, None)


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
    assert shard.pop("took_ms") >= shard.pop("cost_ms") >= 0
    assert {**shard, "bytes": 0} == {"step": 3, "rank": 1, "world": 2, "bytes": 0}
    assert len(lines) == 4
    assert board.flags & CLOSED
    assert (job.hot_folder() / "step-000000000003" / "rank-00001-of-00002.json").exists()


def test_a_second_training_of_a_process_tells_its_stacks_too(job: AJob) -> None:
    for _ in range(2):
        with environment(job.environment()), Checkpointer() as checkpoints:
            checkpoints.restore(a_state())
            assert f"stacks 0 {os.getpid()} SIGUSR2" in job.notices()


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


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"model": {"deep": [1, {2}]}}, "state['model']['deep']['1'] is a set"),
        ({"objects": np.array([object()])}, "state['objects']: an array of Python objects"),
        ({"masked": np.ma.masked_array([1, 2], mask=[True, False])}, "state['masked'] is a masked array"),
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


def test_memory_for_the_first_save_is_reserved_and_never_that_of_a_save_under_way(tmp_path: Path) -> None:
    state = a_state()
    with environment({}), Checkpointer(str(tmp_path), every=1000) as checkpoints:
        checkpoints.restore(state)
        early = _reserved(checkpoints)
        assert {array.shape for array in early.values()} == {state["weights"].shape}
        handle = checkpoints.save(1, state)
        assert checkpoints.step(2, state)  # the first step must not write into what is being saved
        handle.wait()
        assert all(_reserved(checkpoints)[name] is array for name, array in early.items())
        state["weights"] += 5
        assert checkpoints.restore(state) == 1
    assert (state["weights"] == a_state()["weights"]).all()


def test_reserving_memory_asks_no_code_of_the_user(tmp_path: Path) -> None:
    class Loader:
        asked = 0

        def state_dict(self) -> dict[str, int]:
            self.asked += 1
            return {"at": 0}

        def load_state_dict(self, state: dict[str, int]) -> None: ...

    loader = Loader()
    with environment({}), Checkpointer(str(tmp_path), every=1000) as checkpoints:
        checkpoints.restore({"loader": loader})
        checkpoints.step(1, {"loader": loader})
        assert loader.asked == 0
        checkpoints.save(2, {"loader": loader}).wait()
    assert loader.asked == 1


def _reserved(checkpoints: Checkpointer) -> dict[str, Any]:
    saver = checkpoints._saver
    assert saver is not None
    return dict(saver._staging._buffers)


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
        ({"path": "file:x"}, "no absolute path"),
        ({"path": "s3:/bucket/run"}, "names no place"),
        ({"path": "s3://"}, "names no place"),
        ({"path": " "}, "is empty"),
        ({"every": "5"}, "write a time such as"),
        ({"every": "5 minutes"}, "write a time such as"),
        ({"every": 2.5}, "write a time such as"),
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
