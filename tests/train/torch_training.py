"""Small trainings that ranks of PyTorch run in tests. The data is a function of the step, as resuming needs it.

What torch imports when it is first used is imported here, before ranks are forked.
"""

import hashlib
import time
from typing import Any

import torch
import torch._dynamo
import torch.distributed.checkpoint
import torch.distributed.checkpoint.state_dict
import torch.distributed.tensor
from torch import nn
from torch.distributed.fsdp import fully_shard

from muster.train import Checkpointer
from muster.train.board import LEFT
from muster.train.errors import CheckpointError

BATCH = 12
WIDTH = 12


def a_model(kind: str, dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(1)
    layers = [nn.Linear(WIDTH, 24), nn.LayerNorm(24), nn.ReLU(), nn.Dropout(dropout), nn.Linear(24, WIDTH)]
    model: nn.Module = nn.Sequential(*layers)
    if kind == "fsdp":
        fully_shard(layers[0])
        fully_shard(layers[-1])
        fully_shard(model)
    if kind == "ddp":
        # Otherwise gradients are summed in another order in the first step after a start, and differ in the last bit.
        model = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
    return model


def batch(step: int, rank: int, world: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    inputs, targets = (torch.randn(BATCH, WIDTH, generator=generator) for _ in range(2))
    mine = slice(rank * BATCH // world, (rank + 1) * BATCH // world)
    return inputs[mine], targets[mine]


def train(
    rank: int, world: int, *, kind: str, path: str, steps: int, every: int, dropout: float = 0.0
) -> dict[str, Any]:
    """Train up to a step; the step at which it began, and all losses so far."""
    model = a_model(kind, dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    torch.manual_seed(100 + rank)
    losses: list[float] = []
    state: dict[str, Any] = {"model": model, "optimizer": optimizer, "schedule": schedule, "losses": losses}
    state["random"] = torch.get_rng_state()
    with Checkpointer(path, every=every, keep=2) as checkpoints:
        step = began = checkpoints.restore(state)
        torch.set_rng_state(state["random"])
        while step < steps:
            state["losses"].append(train_one(model, optimizer, step, rank, world, kind))
            schedule.step()
            step += 1
            state["random"] = torch.get_rng_state()
            checkpoints.step(step, state, loss=state["losses"][-1])
    return {"began": began, "losses": state["losses"], "last": checkpoints.last}


def train_one(model: nn.Module, optimizer: Any, step: int, rank: int, world: int, kind: str) -> float:
    inputs, targets = batch(step, rank, world)
    loss = ((model(inputs) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    if kind == "plain":
        for parameter in model.parameters():
            assert parameter.grad is not None
            torch.distributed.all_reduce(parameter.grad)
            parameter.grad.div_(world)
    optimizer.step()
    mean = loss.detach().clone()
    torch.distributed.all_reduce(mean)
    return float(mean) / world


def agree(rank: int, world: int, *, path: str, every: str, saves: int) -> list[int]:
    """Train outside Muster until some saves were made by the clock of rank 0; the steps of this rank's saves."""
    model = a_model("ddp")
    saved: set[int] = set()
    state = {"model": model, "rank": rank}
    with Checkpointer(path, every=every, keep=100) as checkpoints:
        checkpoints.restore(state)
        step, end = 0, torch.tensor(0)
        while not end.item():
            model(torch.zeros(1, WIDTH)).sum().backward()
            time.sleep(0.002)
            step += 1
            checkpoints.step(step, state)
            saved |= {checkpoints.last or 0}
            end = torch.tensor(int(len(saved) > saves))
            torch.distributed.broadcast(end, 0)
    return sorted({*saved, checkpoints.last or 0} - {0})


def leave(rank: int, world: int, *, kind: str, at: int) -> dict[str, Any]:
    """Train in a job until `step` says to leave. The test announces it on the boards before it begins."""
    model = a_model(kind)
    state = {"model": model, "rank": rank}
    with Checkpointer() as checkpoints:
        step = began = checkpoints.restore(state)
        if not began:
            announce_to_leave(checkpoints, at)
        while step < 100:
            step += 1
            if not checkpoints.step(step, state):
                break
        left = bool(checkpoints._board.flags & LEFT)
    parameters = nn.utils.parameters_to_vector(model.parameters()).detach()
    digest = hashlib.sha256(parameters.contiguous().numpy().tobytes()).hexdigest()
    return {"began": began, "step": step, "left": left, "digest": digest}


def announce_to_leave(checkpoints: Checkpointer, at: int) -> None:
    from tests.train.jobs import LEAVE, Desk  # noqa: PLC0415

    Desk(checkpoints._board).announce(at, kind=LEAVE)


def fail_to_save(rank: int, world: int, *, path: str) -> dict[str, Any]:
    """One rank has a state that cannot be saved; what each rank hears, and what is restored."""
    model = a_model("ddp")
    state: dict[str, Any] = {"model": model, "rank": rank}
    with Checkpointer(path, every=1000) as checkpoints:
        checkpoints.save(1, state).wait()
        if rank == 1:
            state["bad"] = {1, 2}
        heard = ""
        try:
            checkpoints.save(2, state).wait()
        except CheckpointError as error:
            heard = str(error)
        return {"heard": heard, "restored": checkpoints.restore({"model": model, "rank": rank})}


def restore_only(rank: int, world: int, *, path: str) -> int:
    with Checkpointer(path, every=1000) as checkpoints:
        return checkpoints.restore({"model": a_model("ddp"), "rank": rank})


def straggle(rank: int, world: int, *, kind: str, steps: int, slow: int) -> list[list[int]]:
    """Train while one rank takes 30 % longer for its own part of a step; the busy and step times of this rank.

    Its own part is sleeping, so that all ranks have the time that they take on any machine.
    """
    torch.manual_seed(1)
    model: nn.Module = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.Linear(16, 1))
    if kind == "fsdp":
        for layer in (model[0], model[2]):  # type: ignore[index]
            fully_shard(layer)
        fully_shard(model)
    elif kind != "plain":
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    ordinary = dict(vars(torch.distributed.Work))
    with Checkpointer("unused", every=10_000) as checkpoints:
        checkpoints.watch(model.module if kind == "inner" else model)
        assert dict(vars(torch.distributed.Work)) != ordinary
        for step in range(1, steps + 1):
            loss = model(torch.randn(8, 16)).square().mean()
            time.sleep(STRAGGLE_S * (1.3 if rank == slow else 1))
            optimizer.zero_grad()
            if kind not in AFTER_BACKWARD:
                together(kind, model, loss.detach())  # so that the ranks wait here, and not in the backward pass
            loss.backward()
            if kind in AFTER_BACKWARD:
                together(kind, model, loss.detach())
            optimizer.step()
            checkpoints.step(step, {"model": model})
        times = [[time.busy_us, time.step_us] for time in checkpoints._board.step_times()]
    assert dict(vars(torch.distributed.Work)) == ordinary
    return times


STRAGGLE_S = 0.03
AFTER_BACKWARD = ("plain", "fsdp")
"""Kinds that do something together with gradients."""


def together(kind: str, model: nn.Module, loss: torch.Tensor) -> None:
    """What trainings do together besides what wraps their model."""
    if kind == "plain":
        works = [torch.distributed.all_reduce(each.grad, async_op=True) for each in model.parameters()]
        works[0].get_future().wait()
        [work.wait() for work in works]
    if kind == "fsdp":
        nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()  # type: ignore[attr-defined]
    if kind in ("loss", "fsdp"):
        torch.distributed.all_reduce(loss)
    if kind == "barrier":
        torch.distributed.barrier()
    if kind == "functional":
        world = list(range(torch.distributed.get_world_size()))
        torch.distributed._functional_collectives.all_reduce(loss, "sum", world).item()


class HalfUsed(nn.Module):
    """A part of it never gets a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.used(inputs)  # type: ignore[no-any-return]


def half_used(rank: int, world: int, *, kind: str, path: str) -> dict[str, Any]:
    """Save and restore an optimizer of which some parameters have no state."""
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        model: Any = HalfUsed()
        if kind == "ddp":
            model = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
        else:
            fully_shard(model)
        states.append({"model": model, "optimizer": torch.optim.AdamW(model.parameters())})
    one_step(states[0]["model"], states[0]["optimizer"], torch.ones(2, 4))
    return saved_and_restored(path, 3, *states)


def one_step(model: Any, optimizer: Any, inputs: torch.Tensor) -> None:
    model(inputs).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def saved_and_restored(path: str, step: int, state: dict[str, Any], blank: dict[str, Any]) -> dict[str, Any]:
    """What is restored of a state, and whether both train alike afterwards."""
    with Checkpointer(path, every=1000) as checkpoints:
        checkpoints.save(step, state).wait()
        restored = checkpoints.restore(blank)
    for each in (state, blank):
        for _ in range(2):
            one_step(each["model"], each["optimizer"], torch.ones(2, 4))
    pairs = zip(state["model"].parameters(), blank["model"].parameters(), strict=True)
    return {"restored": restored, "is_equal": all(torch.equal(_whole(a), _whole(b)) for a, b in pairs)}


def _whole(tensor: Any) -> torch.Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor  # type: ignore[no-any-return]


class Application:
    """A model with its optimizer, as torch's own examples save them."""

    def __init__(self, model: Any, optimizer: Any) -> None:
        self.model, self.optimizer = model, optimizer

    def state_dict(self) -> dict[str, Any]:
        model, optimizer = torch.distributed.checkpoint.state_dict.get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        torch.distributed.checkpoint.state_dict.set_state_dict(
            self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )


class Average:
    """A copy of the parameters, as those that keep an average have it."""

    def __init__(self, model: Any) -> None:
        self.copies = {name: each.detach().clone() for name, each in model.named_parameters()}

    def state_dict(self) -> dict[str, Any]:
        return dict(self.copies)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.copies = dict(state)


def a_sharded_model(seed: int) -> Any:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 4))
    fully_shard(model)
    return model


def a_sharded_training(kind: str, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A model with its optimizer, and a state that has both in this form."""
    model, second = a_sharded_model(seed), a_sharded_model(seed + 10)
    parameters = [*model.parameters(), *(second.parameters() if kind == "two models" else [])]
    training = {"model": model, "optimizer": torch.optim.AdamW(parameters)}
    tensors = tuple(each.detach() for each in model.parameters())
    more: dict[str, Any] = {
        "application": {"application": Application(**training)},
        "average": {**training, "average": Average(model)},
        "two models": {**training, "second": second},
    }
    return training, more.get(kind, {**training, "tuple": tensors})


def sharded_state(rank: int, world: int, *, kind: str, path: str) -> dict[str, Any]:
    """Save sharded tensors somewhere in the state, and restore them into another training."""
    (saved, state), (other, blank) = a_sharded_training(kind, 1), a_sharded_training(kind, 2)
    one_step(**saved, inputs=torch.ones(2, 4))
    if kind == "lost":
        blank["tuple"] = ()
    with Checkpointer(path, every=1000) as checkpoints:
        checkpoints.save(5, state).wait()
        try:
            restored = checkpoints.restore(blank)
        except CheckpointError as error:
            return {"heard": str(error)}
    for training in (saved, other):
        one_step(**training, inputs=torch.ones(2, 4))
    pairs = [*zip(saved["model"].parameters(), other["model"].parameters(), strict=True)]
    if kind == "average":
        pairs += zip(state["average"].copies.values(), blank["average"].copies.values(), strict=True)
    return {"restored": restored, "is_equal": all(torch.equal(_whole(a), _whole(b)) for a, b in pairs)}


def misfit(rank: int, world: int, *, path: str) -> str:
    """One rank has a state that the checkpoint does not fit; what each rank hears."""
    import numpy as np  # noqa: PLC0415

    with Checkpointer(path, every=1000) as checkpoints:
        checkpoints.save(1, {"value": np.ones(2)}).wait()
        try:
            checkpoints.restore({"value": np.ones(2 + rank)})
        except CheckpointError as error:
            return str(error)
    return ""


def different_steps(rank: int, world: int, *, path: str) -> dict[str, Any]:
    """The first rank is a save ahead of the others; what each of them hears, and what is saved in the end."""
    with Checkpointer(path, every=1000) as checkpoints:
        checkpoints.save(1, {"rank": rank}).wait()
        heard = []
        for step in (5, 6) if rank == 0 else (6,):
            try:
                checkpoints.save(step, {"rank": rank}).wait()
            except CheckpointError as error:
                heard.append(str(error))
        last = checkpoints.last
        checkpoints.save(9, {"rank": rank}).wait()
        return {"heard": heard, "last": last, "at_the_end": checkpoints.last}


def save_again(rank: int, world: int, *, kind: str, path: str) -> dict[str, Any]:
    """Save a step that is saved already, with another state."""
    model = a_model(kind)
    with Checkpointer(path, every=1000) as checkpoints:
        checkpoints.save(1, {"model": model, "value": "old"}).wait()
        with torch.no_grad():
            next(iter(model.parameters())).add_(1)
        checkpoints.save(1, {"model": model, "value": "new"}).wait()
        blank = {"model": a_model(kind), "value": ""}
        restored = checkpoints.restore(blank)
    is_equal = torch.equal(
        _whole(next(iter(model.parameters()))),
        _whole(next(iter(blank["model"].parameters()))),  # type: ignore[attr-defined]
    )
    return {"restored": restored, "value": blank["value"], "is_equal": is_equal}
