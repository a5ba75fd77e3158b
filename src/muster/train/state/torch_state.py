"""Models and optimizers in names that fit any number of ranks.

What all ranks of a model share goes through torch.distributed.checkpoint under its full name: sharded tensors always,
and the parameters of a model that torch keeps equal on all ranks (DistributedDataParallel, or a single process).
Everything else may differ between ranks, and is saved for each rank: buffers, and plain models in several processes.
"""

from typing import Any

from muster.train import optional
from muster.train.errors import StateMismatch
from muster.train.state.staging import is_sharded

WRAPPERS = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
"""What compiling and wrapping adds to the names of parameters."""


def is_model(value: Any) -> bool:
    """True for modules of torch."""
    torch = optional.loaded("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def is_optimizer(value: Any) -> bool:
    """True for optimizers of torch."""
    torch = optional.loaded("torch")
    return torch is not None and isinstance(value, torch.optim.Optimizer)


def is_shared(model: Any, world: int) -> bool:
    """True when all ranks have parts or equal copies of this model."""
    if world == 1 or any(is_sharded(parameter) for parameter in model.parameters()):
        return True
    inner = getattr(model, "_orig_mod", model)
    return isinstance(inner, optional.module("torch").nn.parallel.DistributedDataParallel)


def unwrapped(model: Any) -> Any:
    """The user's module inside of what compiles and replicates it."""
    model = getattr(model, "_orig_mod", model)
    if isinstance(model, optional.module("torch").nn.parallel.DistributedDataParallel):
        model = model.module
    return getattr(model, "_orig_mod", model)


def model_tensors(model: Any) -> dict[str, Any]:
    """The state of a model by full names. Tensors are those of the model, not copies."""
    return dict(_names().get_model_state_dict(model))


def buffer_names(model: Any) -> set[str]:
    """The full names of what a rank may have of its own."""
    return {_bare(name) for name, _ in unwrapped(model).named_buffers(remove_duplicate=False)}


def optimizer_state(model: Any, optimizer: Any) -> dict[str, Any]:
    """The state of an optimizer by the full names of parameters; made if there is none yet."""
    return dict(_names().get_optimizer_state_dict(model, optimizer))


def load_model(model: Any, tensors: dict[str, Any], is_whole: bool = False) -> None:
    """Put a state by full names into a model. `is_whole` when tensors are not cut for this rank yet."""
    names = _names()
    with _mismatches("the model"):
        if is_whole and not any(is_sharded(parameter) for parameter in model.parameters()):
            unwrapped(model).load_state_dict(tensors)
        else:
            names.set_model_state_dict(model, tensors, options=names.StateDictOptions(full_state_dict=is_whole))


def load_optimizer(model: Any, optimizer: Any, state: dict[str, Any]) -> None:
    """Put a state by full names into an optimizer."""
    with _mismatches("the optimizer"):
        _names().set_optimizer_state_dict(model, optimizer, state)


def owner_of(optimizer: Any, models: list[Any]) -> Any:
    """The model that has all parameters of an optimizer; None when no single one has."""
    wanted = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for model in models:
        if wanted <= {id(parameter) for parameter in model.parameters()}:
            return model
    return None


class _mismatches:  # noqa: N801 (reads as a word in a with statement)
    """What torch says about a state that does not fit, as an error of this package."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if isinstance(error, (RuntimeError, KeyError, ValueError, AssertionError)):
            raise StateMismatch(f"the checkpoint does not fit {self._what}: {error}") from error


def _names() -> Any:
    return optional.module("torch.distributed.checkpoint.state_dict")


def _bare(name: str) -> str:
    for wrapper in WRAPPERS:
        name = name.replace(wrapper, "")
    return name
