"""JSON -> one of the values in `answers`, by the types of its fields."""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from muster.client.answers import Answer
from muster.model.errors import Unreachable

AnswerT = TypeVar("AnswerT", bound=Answer)

_known_hints: dict[type[Answer], dict[str, Any]] = {}
"""Working out the types of a class costs more than filling it."""


def build(kind: type[AnswerT], document: object) -> AnswerT:
    """The answer as a value; fields that it does not know are left alone, those that are missing take their default."""
    try:
        return _built(kind, document)
    except (TypeError, ValueError) as error:
        problem = f"the answer of the server is not a {kind.__name__}: {error}"
        raise Unreachable(f"{problem}; is this a Muster server, and as new as this program?") from None


def _built(kind: type[AnswerT], document: object) -> AnswerT:
    if not isinstance(document, Mapping):
        raise TypeError(f"an object was expected, not {type(document).__name__}")
    given = [(name, hint, document[name]) for name, hint in _hints(kind).items() if name in document]
    # null where a value is expected counts as left out: the default is what such a field means then.
    values = {name: _value(hint, value) for name, hint, value in given if value is not None or _is_optional(hint)}
    return kind(**values, document=dict(document))


def _hints(kind: type[Answer]) -> dict[str, Any]:
    if kind not in _known_hints:
        hints = get_type_hints(kind)
        _known_hints[kind] = {each.name: hints[each.name] for each in fields(kind) if each.name != "document"}
    return _known_hints[kind]


def _is_optional(hint: Any) -> bool:
    return type(None) in get_args(hint)


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _value(next(each for each in get_args(hint) if each is not type(None)), value)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(get_args(hint)[0], each) for each in value)
    if hint is datetime:
        return datetime.fromisoformat(value)
    if isinstance(hint, type) and is_dataclass(hint) and issubclass(hint, Answer):
        return _built(hint, value)
    return value
