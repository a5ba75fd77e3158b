"""Models and optimizers in names that fit any number of ranks.

What all ranks of a model share goes through torch.distributed.checkpoint under its full name: sharded tensors always,
and the parameters of a model that torch keeps equal on all ranks (DistributedDataParallel, or a single process).
Everything else may differ between ranks, and is saved for each rank: buffers, and plain models in several processes.
"""

from typing import Any

from muster.train import optional
from muster.train.errors import StateMismatch
from muster.train.state.rank_file import is_tensor
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
    if not _has_tensors(model):  # such as a loss function: torch would ask for a group of processes
        return dict(unwrapped(model).state_dict())
    return dict(_names().get_model_state_dict(model))


def buffer_names(model: Any) -> set[str]:
    """The full names of what a rank may have of its own."""
    return {_bare(name) for name, _ in unwrapped(model).named_buffers(remove_duplicate=False)}


def parameter_names(optimizer: Any, models: list[Any]) -> list[str] | None:
    """The full names of an optimizer's parameters in its own order; None when its state is this rank's alone.

    An optimizer of several models whose parameters are sharded has numbers for names: its order is all that they share.
    """
    parameters = _parameters(optimizer)
    owner = owner_of(optimizer, models)
    if owner is not None:
        names = {id(parameter): _bare(name) for name, parameter in unwrapped(owner).named_parameters()}
        return [names[id(parameter)] for parameter in parameters]
    if any(is_sharded(parameter) for parameter in parameters):
        return [str(number) for number in range(len(parameters))]
    return None


def optimizer_state(optimizer: Any, names: list[str]) -> dict[str, Any]:
    """The state of an optimizer by the names of its parameters. A parameter without a gradient may have none."""
    saved = dict(optimizer.state_dict())
    saved["state"] = {_named(key, names): dict(entry) for key, entry in saved["state"].items()}
    groups = saved["param_groups"]
    saved["param_groups"] = [{**group, "params": [names[at] for at in group["params"]]} for group in groups]
    return saved


def entry_like(optimizer: Any, number: int, entry: str, saved: Any) -> Any:
    """A tensor for an entry of the state of one parameter, to read into; None when any tensor like the saved one does.

    What belongs to a sharded parameter is sharded as it is, when it has its shape. Otherwise only the optimizer knows.
    """
    parameter = _parameters(optimizer)[number]
    current = optimizer.state.get(parameter, {}).get(entry)
    if is_tensor(current) and current.shape == saved.shape:
        return current
    if not is_sharded(parameter) or not saved.shape:
        return None
    torch = optional.module("torch")
    if parameter.shape == saved.shape:
        return torch.empty_like(parameter, dtype=saved.dtype, requires_grad=False)
    raise StateMismatch(
        f"{entry!r} of parameter {number} is sharded in its own way, and this optimizer has no state yet:"
        " make one step with gradients of zero before restore"
    )


def load_model(model: Any, tensors: dict[str, Any], is_whole: bool = False) -> None:
    """Put a state by full names into a model. `is_whole` when tensors are not cut for this rank yet."""
    names = _names()
    with _mismatches("the model"):
        if not _has_tensors(model) or (is_whole and not any(is_sharded(each) for each in model.parameters())):
            unwrapped(model).load_state_dict(tensors)
        else:
            names.set_model_state_dict(model, tensors, options=names.StateDictOptions(full_state_dict=is_whole))


def load_optimizer(optimizer: Any, names: list[str], state: dict[str, Any]) -> None:
    """Put a state by the names of parameters into an optimizer."""
    numbers = {name: number for number, name in enumerate(names)}
    with _mismatches("the optimizer"):
        groups = _matched(optimizer, names, state["param_groups"])
        entries = {numbers.get(name, name): entry for name, entry in state["state"].items()}
        optimizer.load_state_dict({**state, "param_groups": groups, "state": entries})


def _matched(optimizer: Any, names: list[str], saved: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The saved groups in the order of the optimizer's own, with numbers for names."""
    groups, end = [], 0
    for group in optimizer.param_groups:
        begin, end = end, end + len(group["params"])
        own = names[begin:end]
        fitting = next((each for each in saved if set(each["params"]) == set(own)), None)
        if fitting is None:
            known = {name for each in saved for name in each["params"]}
            strange = next((name for name in own if name not in known), None)
            what = f"it has no parameter {strange!r}" if strange else "its groups of parameters are others"
            raise StateMismatch(f"the checkpoint does not fit the optimizer: {what}")
        groups.append({**fitting, "params": list(range(begin, end))})
    if len(groups) != len(saved):
        raise StateMismatch(
            f"the checkpoint does not fit the optimizer: it has {len(saved)} groups instead of {len(groups)}"
        )
    return groups


def owner_of(optimizer: Any, models: list[Any]) -> Any:
    """The model that has all parameters of an optimizer; None when no single one has."""
    wanted = {id(parameter) for parameter in _parameters(optimizer)}
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


def _parameters(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _has_tensors(model: Any) -> bool:
    return any(True for tensors in (model.parameters(), model.buffers()) for _ in tensors)


def _named(key: Any, names: list[str]) -> Any:
    """The name of a parameter that is given by its number. An optimizer may have entries that belong to none."""
    return names[key] if isinstance(key, int) else key


def _names() -> Any:
    return optional.module("torch.distributed.checkpoint.state_dict")


def _bare(name: str) -> str:
    for wrapper in WRAPPERS:
        name = name.replace(wrapper, "")
    return name
