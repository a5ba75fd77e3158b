"""Real trainings with PyTorch: several ranks on the CPU, killed, resumed and with another number of ranks."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from muster.core.stragglers.peers import PeerGroup
from muster.train.store.inventory import Inventory
from tests.train.jobs import AJob, flipped, job
from tests.train.ranks import Ranks

__all__ = ["job"]


@pytest.fixture(scope="module")
def in_ranks() -> Iterator[Ranks]:
    ranks = Ranks()
    yield ranks
    ranks.close()


def a_training(kind: str, path: Path, world: int, steps: int, **more: Any) -> dict[str, Any]:
    return {"call": "train", "world": world, "kind": kind, "path": str(path), "steps": steps, "every": 4, **more}


@pytest.mark.parametrize("kind", ["fsdp", "ddp", "plain"])
def test_training_goes_on_bitwise_and_with_another_number_of_ranks(kind: str, tmp_path: Path, in_ranks: Ranks) -> None:
    whole, again, other = (tmp_path / name for name in ("whole", "again", "other"))
    dropped = {"dropout": 0.2}
    answers = in_ranks(
        a_training(kind, whole, 4, 12),
        a_training(kind, again, 4, 4),
        a_training(kind, again, 4, 12),
        a_training(kind, other, 4, 4),
        a_training(kind, other, 2, 8),
        a_training(kind, other, 3, 12),
        a_training(kind, tmp_path / "dropout", 2, 8, **dropped),
        a_training(kind, tmp_path / "dropout again", 2, 4, **dropped),
        a_training(kind, tmp_path / "dropout again", 2, 8, **dropped),
    )
    straight, _, resumed, _, two, three, random_whole, _, random_again = (answer[0] for answer in answers)
    assert (resumed["began"], two["began"], three["began"], random_again["began"]) == (4, 4, 8, 4)
    assert len(straight["losses"]) == len(resumed["losses"]) == 12
    assert resumed["losses"] == straight["losses"]
    assert random_again["losses"] == random_whole["losses"]
    assert max(abs(a - b) for a, b in zip(three["losses"], straight["losses"], strict=True)) < 1e-6
    found = Inventory(str(other)).verify(12)
    assert found is not None
    assert (found.verified, found.ranks) == (True, 3)


def test_damages_of_shared_tensors_are_found_and_all_ranks_take_the_checkpoint_before(
    tmp_path: Path, in_ranks: Ranks
) -> None:
    whole = tmp_path / "whole"
    in_ranks(a_training("ddp", whole, 2, 8))
    calls = []
    for name in ("__0_0.distcp", "__1_0.distcp", "tensors.json", "values-00001.bin"):
        damaged = tmp_path / name
        shutil.copytree(whole, damaged)
        flipped(damaged / "step-000000000008" / name, 50)
        calls.append({"call": "train", "world": 2, "kind": "ddp", "path": str(damaged), "steps": 5, "every": 100})
    answers = in_ranks(*calls)
    assert [[rank["began"] for rank in answer] for answer in answers] == [[4, 4]] * 4


def test_a_state_that_one_rank_cannot_save_fails_the_save_of_all_and_nothing_else(
    tmp_path: Path, in_ranks: Ranks
) -> None:
    (answers,) = in_ranks({"call": "fail_to_save", "world": 2, "path": str(tmp_path)})
    for answer in answers:
        assert answer["heard"].startswith("rank 1: state['bad'] is a set")
        assert answer["restored"] == 1


def test_ranks_outside_muster_save_at_the_same_steps_by_the_clock_of_the_first(tmp_path: Path, in_ranks: Ranks) -> None:
    (answers,) = in_ranks({"call": "agree", "world": 2, "path": str(tmp_path), "every": "300ms", "saves": 2})
    complete = [each.step for each in Inventory(str(tmp_path)).checkpoints() if each.complete]
    assert complete
    assert answers[0]
    assert answers[0] == answers[1]
    assert set(answers[0]) <= set(complete)


def test_ranks_leave_together_and_resume_from_their_nodes(job: AJob, in_ranks: Ranks) -> None:
    environs = [job.environment(rank, 2, node=f"n{rank + 1}") for rank in range(2)]
    again = [job.environment(rank, 2, node=f"n{2 - rank}", restart=1, step=7) for rank in range(2)]
    left, resumed = in_ranks(
        {"call": "leave", "world": 2, "kind": "ddp", "at": 7, "environs": environs},
        {"call": "leave", "world": 2, "kind": "ddp", "at": 0, "environs": again},
    )
    for rank in range(2):
        assert (left[rank]["began"], left[rank]["step"], left[rank]["left"]) == (0, 7, True)
        assert (resumed[rank]["began"], resumed[rank]["step"], resumed[rank]["left"]) == (7, 100, False)
        assert resumed[rank]["digest"] == left[rank]["digest"]
    shards = [json.loads(line.partition(" ")[2]) for line in job.notices() if line.startswith("shard ")]
    assert sorted((shard["step"], shard["rank"], shard["world"]) for shard in shards) == [(7, 0, 2), (7, 1, 2)]
    assert (job.hot_folder("n2") / "step-000000000007" / "__1_0.distcp").exists()


@pytest.mark.parametrize("kind", ["ddp", "inner", "loss", "barrier", "functional", "plain", "fsdp"])
def test_the_rank_that_takes_longer_itself_is_named_whatever_the_ranks_wait_for(kind: str, in_ranks: Ranks) -> None:
    slowed, even = in_ranks(
        {"call": "straggle", "world": 3, "kind": kind, "steps": 50, "slow": 1},
        {"call": "straggle", "world": 3, "kind": kind, "steps": 50, "slow": -1},
    )
    step_us = [median(step for _, step in rank) for rank in slowed]
    assert min(step_us) > 0.9 * max(step_us)
    assert named(slowed) == {1}
    assert named(even) == set()


def named(ranks: list[list[list[int]]]) -> set[int]:
    """The ranks that the control plane names when it hears of the steps of about a second at a time."""
    group, found = PeerGroup(), set[int]()
    for begin in range(0, 50, 10):
        for rank, times in enumerate(ranks):
            group.note(rank, 10, int(median(busy for busy, _ in times[begin : begin + 10])), begin)
        group.weigh(begin)
        found |= {each.rank for each in group.slow}
    return found


ENDS_EARLY = """
import sys, torch
from muster.train import Checkpointer
state = {str(number): torch.zeros(2_000_000) for number in range(20)}
checkpoints = Checkpointer(sys.argv[1])
checkpoints.restore(state)
if sys.argv[2] == "saves":
    checkpoints.save(1, state)
if sys.argv[2] == "closes":
    checkpoints.close()
"""


@pytest.mark.parametrize("what", ["closes", "saves", "leaves"])
def test_a_training_that_is_over_before_its_memory_is_reserved_or_its_save_is_written_ends_well(
    tmp_path: Path, what: str
) -> None:
    done = subprocess.run([sys.executable, "-c", ENDS_EARLY, str(tmp_path), what], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
