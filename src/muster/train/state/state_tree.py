"""The user's state taken apart: what is saved for each rank, and what the ranks share.

`take_apart` turns the state into a tree of plain values, the arrays of this rank and the tensors that all ranks share,
all copied. `put_back` walks the user's state along such a tree and puts the saved values into it.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from muster.train import optional
from muster.train.errors import CheckpointError, DamagedCheckpoint, StateMismatch, UnsavableState, in_words
from muster.train.state import torch_state
from muster.train.state.rank_file import RawArray, is_array, is_masked, is_tensor, raw
from muster.train.state.shards import Shard
from muster.train.state.staging import Staging, is_sharded
from muster.train.state.tree_nodes import KIND, below, has_shared, in_brackets, items_of, key_of, kind_of, plain


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
    """Put what was saved into a state. Raises StateMismatch, which says where in the state."""
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
        try:
            return self._object(value, path)
        except CheckpointError:
            raise
        except Exception as error:  # whatever torch or a user's state_dict raises
            raise UnsavableState(f"state{in_brackets(path)} cannot be saved: {in_words(error)}") from error

    def _container(self, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            if KIND not in value and all(isinstance(key, str) for key in value):
                return {key: self.node(each, below(path, key)) for key, each in value.items()}
            items = [[self.node(key, path), self.node(each, below(path, key))] for key, each in value.items()]
            return {KIND: "dict", "items": items}
        nodes = [self.node(each, below(path, index)) for index, each in enumerate(value)]
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
            f"state{in_brackets(path)} is a {kind}, which cannot be saved: give what has state_dict and"
            " load_state_dict, tensors, arrays, or plain values"
        )

    def _model(self, model: Any, path: str) -> Any:
        if not torch_state.is_shared(model, self._world):
            return {KIND: "state", "of": self.node(dict(torch_state.unwrapped(model).state_dict()), path)}
        buffers = torch_state.buffer_names(model)
        own = {}
        for name, value in torch_state.model_tensors(model).items():
            if is_tensor(value) and (is_sharded(value) or name not in buffers):
                self._share(value, below(path, name))
            else:
                own[name] = value
        return {KIND: "model", "own": self.node(own, path)}

    def _optimizer(self, optimizer: Any, path: str) -> Any:
        names = torch_state.parameter_names(optimizer, self._models)
        if names is None:
            return {KIND: "state", "of": self.node(optimizer.state_dict(), path)}
        is_equal = torch_state.owner_of(optimizer, self._models) is not None
        own = torch_state.optimizer_state(optimizer, names)
        for name, entries in own["state"].items():
            for key in [key for key, value in entries.items() if is_tensor(value) and (is_equal or is_sharded(value))]:
                self._share(entries.pop(key), below(path, name, key))
            if any(is_sharded(value) for value in _tensors(entries)):
                raise UnsavableState(
                    f"state{in_brackets(path)}: the state of the parameter {name!r} has sharded tensors in lists or"
                    " dicts, which cannot be restored: keep each of them under a key of its own"
                )
        return {KIND: "optimizer", "own": self.node(own, path)}

    def _share(self, value: Any, path: str) -> None:
        self.taken.shared[path] = self._staging.copy(path, value)

    def _kept(self, value: Any, path: str) -> int:
        where = f"state{in_brackets(path)}"
        if is_masked(value):
            raise UnsavableState(f"{where} is a masked array, whose mask would be lost: save its data and its mask")
        self.taken.arrays.append(raw(self._staging.copy(f"own {path}", value), where))
        return len(self.taken.arrays) - 1


class _Rehearsal(_Taking):
    """The same walk before the first save. What asking might change is left out.

    The `state_dict` of a data loader may begin to read, and an optimizer without a state has nothing to copy yet.
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
        if isinstance(current, dict) and kind_of(node) in (None, "dict") and isinstance(node, dict):
            return self._into_dict(current, node, path)
        if isinstance(current, list) and isinstance(node, list) and len(current) == len(node):
            current[:] = [self.into(each, node[at], below(path, at)) for at, each in enumerate(current)]
            return current
        if isinstance(current, Shard) and kind_of(node) == "shard":
            current.array = self._saved.shard(node["at"], path, node["axis"])
            return current
        if torch_state.is_model(current):
            return self._into_model(current, node, path)
        if torch_state.is_optimizer(current):
            return self._into_optimizer(current, node, path)
        if is_tensor(current) or is_array(current):
            return self._into_array(current, node, path)
        if hasattr(current, "load_state_dict") and kind_of(node) == "state":
            return self._loaded(current, node["of"], path)
        return self.value(node, path, current)

    def _loaded(self, current: Any, node: Any, path: str) -> Any:
        """Give an object its saved state. Of sharded tensors it says itself how it has them now."""
        like = current.state_dict() if has_shared(node) else None
        saved = self.value(node, path, like)
        with _in_place(path):
            current.load_state_dict(saved)
        return current

    def _into_dict(self, current: dict[Any, Any], node: dict[str, Any], path: str) -> dict[Any, Any]:
        saved = {self.value(key, path): each for key, each in items_of(node)}
        for key in [key for key in current if key not in saved]:
            self._hear(f"state{in_brackets(below(path, key))} is not in the checkpoint and stays as it is")
        for key, each in saved.items():
            if key in current:
                current[key] = self.into(current[key], each, below(path, key))
            elif kind_of(each) in ("state", "model", "optimizer", "shared"):
                self._hear(f"state{in_brackets(below(path, key))} is in the checkpoint and not used")
            else:
                current[key] = self.value(each, below(path, key))
        return current

    def _into_model(self, model: Any, node: Any, path: str) -> Any:
        if kind_of(node) == "state":
            whole = self.value(node["of"], path)
            with _in_place(path):
                torch_state.load_model(model, whole, is_whole=True)
            return model
        if kind_of(node) != "model":
            raise StateMismatch(f"state{in_brackets(path)} is a model, and was not when it was saved")
        tensors = torch_state.model_tensors(model)
        own = self.value(node["own"], path)
        shared = {below(path, name): name for name in tensors if name not in own}
        self._check_names(set(shared), path, "the model")
        self._saved.load_shared({key: tensors[name] for key, name in shared.items()})
        with _in_place(path):
            torch_state.load_model(model, {**tensors, **own})
        return model

    def _into_optimizer(self, optimizer: Any, node: Any, path: str) -> Any:
        names = torch_state.parameter_names(optimizer, self._models)
        if kind_of(node) == "state":
            return self._loaded(optimizer, node["of"], path)
        if kind_of(node) != "optimizer" or names is None:
            raise StateMismatch(f"state{in_brackets(path)}: the model of this optimizer is not in the state")
        own = self.value(node["own"], path)
        with _in_place(path):
            wanted = self._optimizer_tensors(optimizer, names, own, path)
        self._saved.load_shared(wanted)
        with _in_place(path):
            torch_state.load_optimizer(optimizer, names, own)
        return optimizer

    def _optimizer_tensors(self, optimizer: Any, names: list[str], own: dict[str, Any], path: str) -> dict[str, Any]:
        """Tensors to read into for all that the ranks share of an optimizer; they become part of its own state."""
        numbers = {name: number for number, name in enumerate(names)}
        wanted: dict[str, Any] = {}
        for key in self._saved.shared_names(path):
            name, entry = (plain(part) for part in key[len(path) + 1 :].rsplit("/", 1))
            tensor = self._saved.empty_like(key)
            if name in numbers:
                like = torch_state.entry_like(optimizer, numbers[name], entry, tensor)
                tensor = tensor if like is None else like
            wanted[key] = own["state"].setdefault(name, {})[entry] = tensor
        return wanted

    def _check_names(self, wanted: set[str], path: str, what: str) -> None:
        saved = self._saved.shared_names(path)
        missing, left = sorted(wanted - saved), sorted(saved - wanted)
        if missing or left:
            absent = f"the checkpoint lacks {missing[0]!r}" if missing else f"the checkpoint also has {left[0]!r}"
            raise StateMismatch(f"the checkpoint does not fit {what} in state{in_brackets(path)}: {absent}")

    def _into_array(self, current: Any, node: Any, path: str) -> Any:
        if is_tensor(current) and is_sharded(current) and kind_of(node) == "shared":
            self._saved.load_shared({path: current})
            return current
        value = self.value(node, path)
        if _is_scalar(current):
            return value
        if not _fits(value, current):
            raise StateMismatch(
                f"state{in_brackets(path)} is {_form(current)}, and the checkpoint has {_form(value)} there:"
                " put one like that there before restore, or None to take it as it was saved"
            )
        if is_tensor(current):
            with optional.module("torch").no_grad():
                current.copy_(value)
        elif not getattr(getattr(current, "flags", None), "writeable", False):
            return value
        else:
            current[...] = value
        return current

    def value(self, node: Any, path: str, like: Any = None) -> Any:
        """What a part of the tree stands for. `like` is what is there now, for sharded tensors to be read into."""
        if isinstance(node, list):
            return self._values(node, path, like)
        if not isinstance(node, dict):
            return node
        match kind_of(node):
            case None | "dict":
                return self._values_by_key(node, path, like)
            case "tuple":
                return tuple(self._values(node["items"], path, like))
            case "shared":
                return self._shared(like, path)
            case "float":
                return float(node["is"])
            case "bytes":
                return bytes.fromhex(node["hex"])
            case "array" | "scalar" as kind:
                array = self._saved.array(node["at"])
                return array[()] if kind == "scalar" else array
            case "shard":
                return Shard(self._saved.shard(node["at"], path, node["axis"]), node["axis"])
            case kind:
                raise DamagedCheckpoint(f"state{in_brackets(path)} has the unknown form {kind!r}")

    def _values(self, nodes: list[Any], path: str, like: Any) -> list[Any]:
        current = like if isinstance(like, (list, tuple)) and len(like) == len(nodes) else [None] * len(nodes)
        return [self.value(each, below(path, at), current[at]) for at, each in enumerate(nodes)]

    def _values_by_key(self, node: dict[str, Any], path: str, like: Any) -> dict[Any, Any]:
        current = like if isinstance(like, dict) else {}
        keys = [(key_of(self.value(key, path)), each) for key, each in items_of(node)]
        return {key: self.value(each, below(path, key), current.get(key)) for key, each in keys}

    def _shared(self, like: Any, path: str) -> Any:
        if not is_tensor(like) or not is_sharded(like):
            raise StateMismatch(
                f"state{in_brackets(path)} was a tensor of which each rank has a part, and there is none to read it"
                " into: make it as it was when it was saved, before restore"
            )
        self._saved.load_shared({path: like})
        return like


def _fits(value: Any, current: Any) -> bool:
    """True when a saved array can be copied into the present one without losing anything."""
    if not hasattr(value, "dtype") or is_tensor(value) != is_tensor(current) or value.shape != current.shape:
        return False
    if value.dtype == current.dtype:
        return True
    if is_tensor(value):
        return bool(optional.module("torch").promote_types(value.dtype, current.dtype) == current.dtype)
    return bool(optional.module("numpy").can_cast(value.dtype, current.dtype, "safe"))


def _form(value: Any) -> str:
    if not hasattr(value, "dtype"):
        return f"a {type(value).__name__}"
    return f"{'a tensor' if is_tensor(value) else 'an array'} of {value.dtype} of the shape {tuple(value.shape)}"


@contextlib.contextmanager
def _in_place(path: str) -> Iterator[None]:
    """What torch or a user's object says about a state that it cannot take, as an error that says where."""
    where = f"state{in_brackets(path)}"
    try:
        yield
    except StateMismatch as error:
        raise StateMismatch(f"{where}: {error}") from error
    except Exception as error:
        raise StateMismatch(f"{where} cannot take what was saved: {in_words(error)}") from error


def _tensors(value: Any) -> Iterator[Any]:
    """All tensors in lists and dicts."""
    if is_tensor(value):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _tensors(each)


def _models(value: Any) -> Iterator[Any]:
    """All models in a state."""
    if torch_state.is_model(value):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _models(each)


def _is_scalar(value: Any) -> bool:
    numpy = optional.loaded("numpy")
    return numpy is not None and isinstance(value, numpy.generic)
