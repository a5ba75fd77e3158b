"""The user's state taken apart: what is saved for each rank, and what the ranks share.

`take_apart` turns the state into a tree of plain values, the arrays of this rank and the tensors that all ranks share,
all copied. `put_back` walks the user's state along such a tree and puts the saved values into it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from muster.train import optional
from muster.train.errors import DamagedCheckpoint, StateMismatch, UnsavableState
from muster.train.state import torch_state
from muster.train.state.rank_file import RawArray, is_array, is_masked, is_tensor, raw
from muster.train.state.shards import Shard
from muster.train.state.staging import Staging, is_sharded

KIND = "$"
"""Marks an object of the tree that JSON has no form for."""


@dataclass
class TakenState:
    """A copy of a state, ready to be written."""

    tree: Any = None
    arrays: list[RawArray] = field(default_factory=list)
    shared: dict[str, Any] = field(default_factory=dict)


class SavedArrays(Protocol):
    """Where saved arrays and tensors come from."""

    def array(self, number: int) -> Any:
        """One of the arrays of this rank."""
        ...

    def shard(self, number: int, path: str, axis: int) -> Any:
        """The part that this rank has of an array that is cut along an axis."""
        ...

    def shared_names(self, prefix: str) -> set[str]:
        """What the ranks share under a path."""
        ...

    def load_shared(self, tensors: dict[str, Any]) -> None:
        """Read shared tensors into these, each rank its part."""
        ...

    def empty_like(self, name: str) -> Any:
        """A tensor with the shape and type of a shared one."""
        ...


def take_apart(state: Any, staging: Staging, world: int) -> TakenState:
    """Copy a state. Raises UnsavableState, which says where in the state."""
    if not isinstance(state, dict):
        raise UnsavableState(f"the state is a {type(state).__name__}; give a dict with what to save")
    staging.begin()
    taking = _Taking(staging, world, list(_models(state)))
    taking.taken.tree = taking.node(state, "")
    staging.finish()
    return taking.taken


def rehearse(state: Any, staging: Staging, world: int) -> None:
    """Reserve the memory that copies of a state will take, as far as that is known without asking anybody's code."""
    if isinstance(state, dict):
        staging.begin(is_rehearsal=True)
        _Rehearsal(staging, world, list(_models(state))).node(state, "")


def put_back(state: dict[str, Any], tree: Any, saved: SavedArrays, hear: Callable[[str], None]) -> None:
    """Put what was saved into a state."""
    _Putting(saved, list(_models(state)), hear).into(state, tree, "")


class _Taking:
    def __init__(self, staging: Staging, world: int, models: list[Any]) -> None:
        self.taken = TakenState()
        self._staging = staging
        self._world = world
        self._models = [model for model in models if torch_state.is_shared(model, world)]

    def node(self, value: Any, path: str) -> Any:
        """The tree for a value."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float) and not _is_scalar(value):
            return float(value) if math.isfinite(value) else {KIND: "float", "is": repr(float(value))}
        if isinstance(value, (dict, list, tuple)):
            return self._container(value, path)
        if isinstance(value, (bytes, bytearray)):
            return {KIND: "bytes", "hex": bytes(value).hex()}
        return self._object(value, path)

    def _container(self, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            if KIND not in value and all(isinstance(key, str) for key in value):
                return {key: self.node(each, _below(path, key)) for key, each in value.items()}
            items = [[self.node(key, path), self.node(each, _below(path, key))] for key, each in value.items()]
            return {KIND: "dict", "items": items}
        nodes = [self.node(each, _below(path, index)) for index, each in enumerate(value)]
        return nodes if isinstance(value, list) else {KIND: "tuple", "items": nodes}

    def _object(self, value: Any, path: str) -> Any:
        if isinstance(value, Shard):
            return {KIND: "shard", "at": self._kept(value.array, path), "axis": value.axis}
        if torch_state.is_model(value):
            return self._model(value, path)
        if torch_state.is_optimizer(value):
            return self._optimizer(value, path)
        if is_tensor(value) and is_sharded(value):
            self.taken.shared[path] = self._staging.copy(path, value)
            return {KIND: "shared"}
        if is_tensor(value) or is_array(value):
            return {KIND: "scalar" if _is_scalar(value) else "array", "at": self._kept(value, path)}
        if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
            return {KIND: "state", "of": self.node(value.state_dict(), path)}
        kind = type(value).__name__
        raise UnsavableState(
            f"state{_in_brackets(path)} is a {kind}, which cannot be saved: give what has state_dict and"
            " load_state_dict, tensors, arrays, or plain values"
        )

    def _model(self, model: Any, path: str) -> Any:
        if not torch_state.is_shared(model, self._world):
            return {KIND: "state", "of": self.node(dict(torch_state.unwrapped(model).state_dict()), path)}
        buffers = torch_state.buffer_names(model)
        own = {}
        for name, value in torch_state.model_tensors(model).items():
            if is_tensor(value) and (is_sharded(value) or name not in buffers):
                self._share(value, _below(path, name))
            else:
                own[name] = value
        return {KIND: "model", "own": self.node(own, path)}

    def _optimizer(self, optimizer: Any, path: str) -> Any:
        model = torch_state.owner_of(optimizer, self._models)
        if model is None:
            return {KIND: "state", "of": self.node(optimizer.state_dict(), path)}
        state = torch_state.optimizer_state(model, optimizer)
        own: dict[str, Any] = {"param_groups": state["param_groups"], "state": {}}
        for name, values in state["state"].items():
            for key, value in values.items():
                if is_tensor(value):
                    self._share(value, _below(path, name, key))
                else:
                    own["state"].setdefault(name, {})[key] = value
        return {KIND: "optimizer", "own": self.node(own, path)}

    def _share(self, value: Any, path: str) -> None:
        self.taken.shared[path] = self._staging.copy(path, value)

    def _kept(self, value: Any, path: str) -> int:
        where = f"state{_in_brackets(path)}"
        if is_masked(value):
            raise UnsavableState(f"{where} is a masked array, whose mask would be lost: save its data and its mask")
        self.taken.arrays.append(raw(self._staging.copy(f"own {path}", value), where))
        return len(self.taken.arrays) - 1


class _Rehearsal(_Taking):
    """The same walk before the first save. What asking might change is left out.

    The `state_dict` of a data loader may begin to read, and that of an optimizer without a state makes one.
    """

    def _object(self, value: Any, path: str) -> Any:
        is_known = torch_state.is_model(value) or is_tensor(value) or is_array(value) or isinstance(value, Shard)
        is_begun = torch_state.is_optimizer(value) and bool(value.state)
        return super()._object(value, path) if is_known or is_begun else None


class _Putting:
    def __init__(self, saved: SavedArrays, models: list[Any], hear: Callable[[str], None]) -> None:
        self._saved = saved
        self._models = models
        self._hear = hear

    def into(self, current: Any, node: Any, path: str) -> Any:
        """Put a saved value into the current one, in place where that is possible; what is there then."""
        if isinstance(current, dict) and _kind(node) in (None, "dict") and isinstance(node, dict):
            return self._into_dict(current, node, path)
        if isinstance(current, list) and isinstance(node, list) and len(current) == len(node):
            current[:] = [self.into(each, node[at], _below(path, at)) for at, each in enumerate(current)]
            return current
        if isinstance(current, Shard) and _kind(node) == "shard":
            current.array = self._saved.shard(node["at"], path, node["axis"])
            return current
        if torch_state.is_model(current):
            return self._into_model(current, node, path)
        if torch_state.is_optimizer(current):
            return self._into_optimizer(current, node, path)
        if is_tensor(current) or is_array(current):
            return self._into_array(current, node, path)
        if hasattr(current, "load_state_dict") and _kind(node) == "state":
            current.load_state_dict(self.value(node["of"], path))
            return current
        return self.value(node, path)

    def _into_dict(self, current: dict[Any, Any], node: dict[str, Any], path: str) -> dict[Any, Any]:
        saved = {self.value(key, path): each for key, each in _items(node)}
        for key in [key for key in current if key not in saved]:
            self._hear(f"state{_in_brackets(_below(path, key))} is not in the checkpoint and stays as it is")
        for key, each in saved.items():
            if key in current:
                current[key] = self.into(current[key], each, _below(path, key))
            elif _kind(each) in ("state", "model", "optimizer", "shared"):
                self._hear(f"state{_in_brackets(_below(path, key))} is in the checkpoint and not used")
            else:
                current[key] = self.value(each, _below(path, key))
        return current

    def _into_model(self, model: Any, node: Any, path: str) -> Any:
        if _kind(node) == "state":
            torch_state.load_model(model, self.value(node["of"], path), is_whole=True)
            return model
        if _kind(node) != "model":
            raise StateMismatch(f"state{_in_brackets(path)} is a model, and was not when it was saved")
        tensors = torch_state.model_tensors(model)
        own = self.value(node["own"], path)
        shared = {_below(path, name): name for name in tensors if name not in own}
        self._check_names(set(shared), path, "the model")
        self._saved.load_shared({key: tensors[name] for key, name in shared.items()})
        torch_state.load_model(model, {**tensors, **own})
        return model

    def _into_optimizer(self, optimizer: Any, node: Any, path: str) -> Any:
        if _kind(node) == "state":
            optimizer.load_state_dict(self.value(node["of"], path))
            return optimizer
        model = torch_state.owner_of(optimizer, self._models)
        if _kind(node) != "optimizer" or model is None:
            raise StateMismatch(f"state{_in_brackets(path)}: the model of this optimizer is not in the state")
        current = torch_state.optimizer_state(model, optimizer)["state"]
        own = self.value(node["own"], path)
        wanted: dict[str, Any] = {}
        for key in self._saved.shared_names(path):
            name, _, entry = key[len(path) + 1 :].rpartition("/")
            tensor = current.get(_plain(name), {}).get(_plain(entry))
            wanted[key] = self._saved.empty_like(key) if tensor is None else tensor
            own["state"].setdefault(_plain(name), {})[_plain(entry)] = wanted[key]
        self._saved.load_shared(wanted)
        torch_state.load_optimizer(model, optimizer, own)
        return optimizer

    def _check_names(self, wanted: set[str], path: str, what: str) -> None:
        saved = self._saved.shared_names(path)
        missing, left = sorted(wanted - saved), sorted(saved - wanted)
        if missing or left:
            absent = f"the checkpoint lacks {missing[0]!r}" if missing else f"the checkpoint also has {left[0]!r}"
            raise StateMismatch(f"the checkpoint does not fit {what} in state{_in_brackets(path)}: {absent}")

    def _into_array(self, current: Any, node: Any, path: str) -> Any:
        if is_tensor(current) and is_sharded(current) and _kind(node) == "shared":
            self._saved.load_shared({path: current})
            return current
        value = self.value(node, path)
        if is_tensor(value) != is_tensor(current) or not hasattr(value, "shape"):
            return value
        if value.shape != current.shape or value.dtype != current.dtype:
            if is_tensor(current) and current.requires_grad:  # an optimizer would go on with this one
                raise StateMismatch(
                    f"state{_in_brackets(path)} is {_form(current)}, and the checkpoint has {_form(value)} there"
                )
            return value
        if is_tensor(current):
            with optional.module("torch").no_grad():
                current.copy_(value)
        elif _is_scalar(current) or not current.flags.writeable:
            return value
        else:
            current[...] = value
        return current

    def value(self, node: Any, path: str) -> Any:
        """What a part of the tree stands for."""
        if isinstance(node, list):
            return [self.value(each, _below(path, at)) for at, each in enumerate(node)]
        if not isinstance(node, dict):
            return node
        match _kind(node):
            case None | "dict":
                return {_key(self.value(key, path)): self.value(each, _below(path, key)) for key, each in _items(node)}
            case "tuple":
                return tuple(self.value(each, _below(path, at)) for at, each in enumerate(node["items"]))
            case "float":
                return float(node["is"])
            case "bytes":
                return bytes.fromhex(node["hex"])
            case "array":
                return self._saved.array(node["at"])
            case "scalar":
                return self._saved.array(node["at"])[()]
            case "shard":
                return Shard(self._saved.shard(node["at"], path, node["axis"]), node["axis"])
            case kind:
                raise DamagedCheckpoint(f"state{_in_brackets(path)} has the unknown form {kind!r}")


def _form(value: Any) -> str:
    return f"{value.dtype} of shape {tuple(value.shape)}"


def _models(value: Any) -> Iterator[Any]:
    """All models in a state."""
    if torch_state.is_model(value):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _models(each)


def _items(node: dict[str, Any]) -> list[Any]:
    return node["items"] if node.get(KIND) == "dict" else [list(item) for item in node.items()]


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _kind(node: Any) -> str | None:
    return node.get(KIND) if isinstance(node, dict) else None


def _is_scalar(value: Any) -> bool:
    numpy = optional.loaded("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _below(path: str, *keys: Any) -> str:
    """The path of what is inside, which no two values share."""
    spelled = [str(key).replace("~", "~0").replace("/", "~1") for key in keys]
    return "/".join([path, *spelled] if path else spelled)


def _plain(spelled: str) -> str:
    return spelled.replace("~1", "/").replace("~0", "~")


def _in_brackets(path: str) -> str:
    return "".join(f"[{_plain(key)!r}]" for key in path.split("/")) if path else ""
