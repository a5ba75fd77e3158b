"""States that are out of the ordinary: they are restored as they were saved, or refused with their place."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from muster.train import Checkpointer
from muster.train.errors import StateMismatch, UnsavableState
from tests.train.ranks import Ranks

OPTIMIZERS: dict[str, Callable[[list[Any]], Any]] = {
    "AdamW": torch.optim.AdamW,
    "Adagrad": torch.optim.Adagrad,
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "Adafactor": torch.optim.Adafactor,
    "LBFGS": lambda parameters: torch.optim.LBFGS(parameters, lr=0.1, max_iter=2),
}


@pytest.fixture(scope="module")
def in_ranks() -> Iterator[Ranks]:
    ranks = Ranks()
    yield ranks
    ranks.close()


class HalfUsed(nn.Module):
    """A part of it never gets a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(3, 3), nn.Linear(2, 2)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.used(inputs)  # type: ignore[no-any-return]


def a_training(kind: str, steps: int) -> dict[str, Any]:
    torch.manual_seed(1)
    model = HalfUsed()
    state = {"model": model, "optimizer": OPTIMIZERS[kind](list(model.parameters()))}
    trained(state, steps)
    return state


def trained(state: dict[str, Any], steps: int) -> list[float]:
    def closure() -> torch.Tensor:
        state["optimizer"].zero_grad()
        loss: torch.Tensor = state["model"](torch.ones(2, 3)).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    return [float(state["optimizer"].step(closure).detach()) for _ in range(steps)]


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("steps", [0, 3])
def test_an_optimizer_with_parameters_without_gradients_goes_on_where_it_was(
    kind: str, steps: int, tmp_path: Path
) -> None:
    state, blank = a_training(kind, steps), a_training(kind, 0)
    before = [each.detach().clone() for each in state["model"].parameters()]
    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(7, state).wait()
        assert checkpoints.restore(blank) == 7
    assert all(map(torch.equal, before, state["model"].parameters()))
    assert len(blank["optimizer"].state) == len(state["optimizer"].state)
    assert trained(blank, 3) == trained(state, 3)


def test_an_optimizer_of_other_parameters_is_refused_with_its_place(tmp_path: Path) -> None:
    one, other = nn.Linear(2, 2), nn.Linear(2, 2, bias=False)
    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"net": one, "opt": torch.optim.Adam([one.weight])}).wait()
        groups: list[Any] = [{"params": [one.weight]}, {"params": [one.bias]}]
        with pytest.raises(StateMismatch, match=r"state\['opt'\].*no parameter 'bias'"):
            checkpoints.restore({"net": one, "opt": torch.optim.Adam(groups)})
        with pytest.raises(StateMismatch, match=r"state\['opt'\].*2 groups instead of 1|lacks|also has"):
            checkpoints.restore({"net": other, "opt": torch.optim.Adam([other.weight])})


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_ranks_have_parameters_without_gradients_too(kind: str, tmp_path: Path, in_ranks: Ranks) -> None:
    (answers,) = in_ranks({"call": "half_used", "world": 2, "kind": kind, "path": str(tmp_path)})
    assert answers == [{"restored": 3, "is_equal": True}] * 2


@pytest.mark.parametrize("kind", ["application", "average", "two models", "tuple"])
def test_sharded_tensors_come_back_wherever_they_are_in_the_state(kind: str, tmp_path: Path, in_ranks: Ranks) -> None:
    (answers,) = in_ranks({"call": "sharded_state", "world": 2, "kind": kind, "path": str(tmp_path)})
    assert answers == [{"restored": 5, "is_equal": True}] * 2


def test_a_sharded_tensor_that_has_nothing_to_be_read_into_is_named(tmp_path: Path, in_ranks: Ranks) -> None:
    (answers,) = in_ranks({"call": "sharded_state", "world": 2, "kind": "lost", "path": str(tmp_path)})
    assert all(answer["heard"].startswith("state['tuple']['0'] was a tensor of which each rank") for answer in answers)


class Picky:
    """Takes nothing back."""

    def state_dict(self) -> dict[str, int]:
        return {"a": 1}

    def load_state_dict(self, state: dict[str, int]) -> None:
        raise KeyError("b" if state else "")


def test_an_error_of_user_code_is_no_outage_of_storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"mine": Picky()}).wait()
        with pytest.raises(StateMismatch, match=r"state\['mine'\] cannot take what was saved: KeyError: 'b'"):
            checkpoints.restore({"mine": Picky()})
    assert "waits" not in capsys.readouterr().err


def test_ranks_hear_that_the_state_of_another_does_not_fit(tmp_path: Path, in_ranks: Ranks) -> None:
    (answers,) = in_ranks({"call": "misfit", "world": 2, "path": str(tmp_path)})
    assert answers[0].startswith("rank 1 cannot restore step 1: state['value'] is an array of float64")
    assert answers[1].startswith("state['value'] is an array of float64")


@pytest.mark.parametrize(
    ("saved", "there"),
    [
        (np.ones(3), np.zeros(5)),
        (np.ones(3), np.zeros(3, dtype="f4")),
        (torch.ones(3), torch.zeros(5)),
        (torch.ones(3), torch.zeros(3, dtype=torch.int64)),
        (torch.ones(3), np.zeros(3)),
        (3, np.zeros(3)),
    ],
)
def test_what_the_users_object_cannot_hold_is_refused_with_its_place(saved: Any, there: Any, tmp_path: Path) -> None:
    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"a": [saved]}).wait()
        with pytest.raises(StateMismatch, match=r"state\['a'\]\['0'\] is (a tensor|an array) of"):
            checkpoints.restore({"a": [there]})
        assert not there.any()
        taken: dict[str, Any] = {"a": [None]}
        assert checkpoints.restore(taken) == 1
        assert np.array_equal(taken["a"][0], saved)


def test_the_users_object_takes_what_it_can_hold(tmp_path: Path) -> None:
    array, tensor = np.zeros(2), torch.zeros(2)
    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"a": np.array([1, 2]), "t": torch.tensor([1, 2])}).wait()
        assert checkpoints.restore({"a": array, "t": tensor}) == 1
    assert (array.tolist(), tensor.tolist()) == ([1, 2], [1, 2])


def test_nothing_is_restored_into_what_is_no_dict(tmp_path: Path) -> None:
    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"a": 1}).wait()
        with pytest.raises(TypeError, match="the state is a NoneType"):
            checkpoints.restore(None)  # type: ignore[arg-type]


def test_a_module_without_parameters_is_saved(tmp_path: Path) -> None:
    model, restored = nn.Linear(2, 2), nn.Linear(2, 2)
    with Checkpointer(str(tmp_path)) as checkpoints:
        checkpoints.save(1, {"loss": nn.CrossEntropyLoss()}).wait()
        assert checkpoints.restore({"loss": nn.CrossEntropyLoss()}) == 1
        checkpoints.save(2, {"model": model, "loss": nn.CrossEntropyLoss()}).wait()
        assert checkpoints.restore({"model": restored, "loss": nn.CrossEntropyLoss()}) == 2
    assert torch.equal(model.weight, restored.weight)


def test_what_torch_says_of_a_state_has_its_place(tmp_path: Path) -> None:
    with warnings.catch_warnings(), Checkpointer(str(tmp_path)) as checkpoints:
        warnings.simplefilter("ignore")
        with pytest.raises(UnsavableState, match=r"^state\['nets'\]\['lazy'\] cannot be saved: .*uninitialized"):
            checkpoints.save(1, {"nets": {"lazy": nn.LazyLinear(3)}}).wait()
