"""Random values of any type of the model, made from its annotations."""

from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from muster.model.records import Record, defaults

INTEGERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
"""What a database keeps."""


def of_type(wanted: Any) -> st.SearchStrategy[Any]:
    """Values of a type: records, enums, closed unions, tuples and what those are made of."""
    if get_origin(wanted) in (UnionType, Union):
        return st.one_of(*(of_type(each) for each in get_args(wanted)))
    if get_origin(wanted) is tuple:
        return _of_tuple(get_args(wanted))
    if isinstance(wanted, type) and issubclass(wanted, Record):
        return _of_record(wanted)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return st.sampled_from(list(wanted))
    plain = {int: INTEGERS, str: st.text(max_size=8), bool: st.booleans(), NoneType: st.none()}
    return plain[getattr(wanted, "__supertype__", wanted)]


def _of_record(wanted: type[Record]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(wanted)
    return st.deferred(lambda: st.builds(wanted, **{name: of_type(hints[name]) for name, _ in defaults(wanted)}))


def _of_tuple(parts: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if len(parts) == 2 and parts[1] is Ellipsis:
        return st.lists(of_type(parts[0]), max_size=3).map(tuple)
    return st.tuples(*(of_type(each) for each in parts))
