"""Ranks of real processes on two nodes save and leave at the same step, and what their ends mean."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import cast

import pytest

from muster.backends.agreement import GangAgreement
from muster.backends.local.training.agreements import Agreements
from muster.model.events import ObservedEvent
from muster.model.ids import JobId
from muster.model.instructions import AskCheckpoint
from muster.model.reports import ShardsSaved, WorkersExited
from muster.model.telemetry import RankProgress
from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, eventually

TRAINER = Path(__file__).with_name("trainer.py")
NODES = ("n1", "n2", "n1", "n2")
RANKS = (0, 1, 2, 3)
FOREVER = 1_000_000


def a_training(machine: Machine, *arguments: float, nodes: tuple[str, ...] = NODES) -> None:
    """Start a training, and wait until all of its ranks were heard of."""
    words = " ".join(f"{each:g}" for each in arguments)
    machine.start(f"exec {sys.executable} {TRAINER} {words}", nodes=nodes)
    seen: dict[int, RankProgress] = {}

    def all_step() -> bool:
        machine.poll()
        for value in machine.backend.telemetry():
            if isinstance(value, RankProgress):
                seen[value.rank] = value
        return len(seen) == len(nodes) and all(each.step for each in seen.values())

    eventually(all_step, what="progress of all ranks")


def exits(machine: Machine, count: int = 4) -> list[WorkersExited]:
    machine.exit_of(count=count)
    return [event for event in machine.events if isinstance(event, WorkersExited)]


def steps_said(machine: Machine, word: str) -> list[int]:
    """At which steps ranks did something, by rank."""
    logs = [machine.log(rank=rank) for rank in RANKS]
    return [int(step) for log in logs for step in re.findall(rf"^{word} at (\d+)", log, re.MULTILINE)]


@pytest.fixture
def pair(make_machine: MakeMachine) -> Machine:
    return make_machine(nodes=("n1", "n2"))


@pytest.mark.parametrize("step_ms", [2, 50])
def test_all_ranks_leave_at_one_step_with_their_parts_saved(pair: Machine, step_ms: int) -> None:
    a_training(pair, FOREVER, step_ms, 1)
    pair.stop(*RANKS)
    assert [(each.told, each.exit_code) for each in exits(pair)] == [(True, 1)] * 4
    (step,) = set(steps_said(pair, "left"))
    assert len(steps_said(pair, "left")) == 4
    parts = [event for event in pair.events if isinstance(event, ShardsSaved)]
    assert {each.step for each in parts} == {step}
    assert sorted(rank for each in parts for rank in each.ranks) == list(RANKS)
    for rank in RANKS:
        assert any(isinstance(each, ShardsSaved) and rank in each.ranks for each in before_exit(pair.events, rank))


def before_exit(events: list[ObservedEvent], rank: int) -> Iterator[ObservedEvent]:
    return takewhile(lambda each: not (isinstance(each, WorkersExited) and each.ranks == (rank,)), events)


def test_a_save_is_agreed_on_with_its_interval_and_not_announced_again(pair: Machine) -> None:
    a_training(pair, FOREVER, 20)
    for generation in (2, 3):
        pair.backend.send(AskCheckpoint(job=JobId("job-1"), attempt=1, generation=generation, every_ms=60_000))
        eventually(lambda: len(steps_said(pair, "saved")) >= 4)
    assert len(set(steps_said(pair, "saved"))) == 1
    every = int(re.findall(r"every (\d+)", pair.log())[0])
    assert 500 < every <= 3_000
    pair.stop(*RANKS, generation=4)
    exits(pair)
    assert len(steps_said(pair, "saved")) == 4
    assert not any((folder / "ask").exists() for folder in pair.worker_folders())


def test_a_training_that_ends_before_the_agreed_step_has_finished_though_it_was_told_to_leave(
    pair: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GangAgreement, "_margin", lambda *_: 1_000)
    a_training(pair, 6, 400)
    pair.stop(*RANKS)
    assert [(each.told, each.exit_code) for each in exits(pair)] == [(False, 0)] * 4


def test_a_finished_training_that_is_told_before_its_processes_end_has_finished(pair: Machine) -> None:
    a_training(pair, 3, 2_000, nodes=("n1",))
    silent = cast("Agreements", _Silent())
    pair.backend._training.agreements = silent
    pair.backend._dispatching = replace(pair.backend._dispatching, agreements=silent)
    pair.stop(0, grace_ms=60_000)
    (end,) = exits(pair, 1)
    assert (end.told, end.exit_code) == (False, 0)


def test_a_rank_that_hangs_is_signalled_within_the_grace_period(pair: Machine) -> None:
    a_training(pair, FOREVER, 10, 0, 2)
    pair.stop(*RANKS, grace_ms=4_000)
    ends = {each.ranks[0]: each for each in exits(pair)}
    assert ends[2].exit_code == 143
    assert "signalled" in pair.log(rank=2)
    assert all(each.told for each in ends.values())
    assert len(steps_said(pair, "left")) == 3


def test_some_workers_of_a_gang_are_signalled_at_once(pair: Machine) -> None:
    a_training(pair, FOREVER, 10)
    pair.stop(3, grace_ms=600_000)
    (end,) = exits(pair, 1)
    assert (end.ranks, end.exit_code, end.told) == ((3,), 143, True)


def test_stacks_of_all_ranks_are_told_while_they_train(pair: Machine) -> None:
    a_training(pair, FOREVER, 10, 0, 2)
    stacks = pair.backend.stacks(JobId("job-1"), 20)
    assert sorted(stacks) == list(RANKS)
    assert all("trainer.py" in text and "in train" in text for text in stacks.values())
    again = pair.backend.stacks(JobId("job-1"), 20)
    assert all(text.count("most recent call first") == 1 for text in again.values())
    assert pair.backend.stacks(JobId("job-7"), 20) == {}


def test_without_boards_workers_are_signalled_at_once(pair: Machine) -> None:
    pair.start("echo up; exec sleep 600", nodes=("n1",))
    pair.says("up")
    pair.stop(0, grace_ms=600_000)
    assert pair.exit_of().exit_code == 143


def test_when_the_control_plane_dies_before_its_decision_ranks_are_signalled(
    pair: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_training(pair, FOREVER, 10)
    monkeypatch.setattr(Agreements, "answered", lambda *_: pair.backend._loop.stop())
    pair.stop(*RANKS, grace_ms=600_000)
    eventually(lambda: not pair.backend._thread.is_alive(), what="the backend stops at the first answer")
    pair.backend.close()
    pair.backend = pair.connect()
    assert [each.exit_code for each in exits(pair)] == [143] * 4


class _Silent:
    """Takes every stop, and announces nothing."""

    def takes(self, _: object) -> bool:
        return True

    def begin(self, _: object) -> None: ...

    def heard(self, _node: object, _progress: object) -> None: ...

    def reported(self, _: object) -> None: ...
