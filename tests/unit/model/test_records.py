"""Records: they cannot be changed, and one becomes the next by name and type."""

import copy
import pickle
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pkgutil import iter_modules
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import muster.model
from muster.model.ids import NodeName
from muster.model.job import Worker
from muster.model.records import REQUIRED, Record, defaults, evolve
from muster.sim import outcome

WORKER = Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1))

VALUES = (int, float, str, bool, NoneType)


def records() -> list[type[Record]]:
    """Every record of the model, and those that a replay returns."""
    modules = [import_module(f"muster.model.{each.name}") for each in iter_modules(muster.model.__path__)]
    names = {module.__name__ for module in (*modules, outcome)}
    return [kind for kind in Record.__subclasses__() if kind.__module__ in names]


def parts(kind: Any) -> Iterator[Any]:
    """What a field of this type is made of."""
    if get_origin(kind) in (tuple, Union, UnionType):
        for each in get_args(kind):
            yield from parts(each)
    elif kind is not Ellipsis:
        yield getattr(kind, "__supertype__", kind)


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        WORKER.rank = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        WORKER.colour = "red"  # type: ignore[attr-defined]


def test_a_record_is_made_by_names_alone() -> None:
    with pytest.raises(TypeError):
        Worker(0, "worker", NodeName("n1"))  # type: ignore[call-arg]


def test_the_next_record_differs_only_in_what_was_named() -> None:
    assert evolve(WORKER, rank=3) == Worker(rank=3, role="worker", node=NodeName("n1"), gpus=(0, 1))
    assert WORKER.rank == 0


def test_what_is_changed_is_checked_by_name_when_it_runs_and_by_type_before() -> None:
    with pytest.raises(TypeError, match="colour"):
        evolve(WORKER, colour="red")  # type: ignore[call-arg]
    # mypy says here that the comment is not needed, should it ever stop checking.
    evolve(WORKER, rank="one")  # type: ignore[arg-type]


def test_equal_records_are_the_same_value() -> None:
    again = Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1))
    assert again == WORKER
    assert len({again, WORKER}) == 1
    assert evolve(WORKER, rank=1) != WORKER


def test_records_can_be_copied_and_pickled() -> None:
    assert copy.deepcopy(WORKER) == WORKER
    assert pickle.loads(pickle.dumps(WORKER)) == WORKER


def test_a_record_says_what_it_is_made_of() -> None:
    assert repr(WORKER) == "Worker(rank=0, role='worker', node='n1', gpus=(0, 1), share_milli=None)"


def test_defaults_are_told_field_by_field() -> None:
    assert defaults(Worker) == (
        ("rank", REQUIRED),
        ("role", REQUIRED),
        ("node", REQUIRED),
        ("gpus", ()),
        ("share_milli", None),
    )


@pytest.mark.parametrize("kind", records(), ids=lambda kind: kind.__name__)
def test_a_record_holds_only_values(kind: type[Record]) -> None:
    # The collector of cyclic garbage is not told of records: what a record holds must not lead back to it.
    hints = get_type_hints(kind)
    for name in kind.__struct_fields__:
        for part in parts(hints[name]):
            assert part in VALUES or issubclass(part, (Record, Enum)), f"{name} may hold a {part}"
