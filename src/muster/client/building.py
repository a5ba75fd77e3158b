"""JSON -> one of the values in `answers`, following the annotations of its fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from muster.annotations import marks, may_be_none, unmarked, without_none
from muster.answers.base import Answer
from muster.answers.marks import Needed, Otherwise
from muster.model.errors import Unreachable

AnswerT = TypeVar("AnswerT", bound=Answer)
Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """How one field of an answer is built."""

    name: str
    convert: Convert | None
    """From the JSON value to the value in the answer; None when both are the same."""
    takes_null: bool
    nothing: Callable[[], object] | None
    """Makes the value when the field was not sent; None when the answer makes no sense without the field."""


_plans: dict[type[Answer], tuple[_Field, ...]] = {}
"""A cache: inspecting the types of a class costs more than filling its fields."""


def build(kind: type[AnswerT], document: object) -> AnswerT:
    """The answer as a value. Unknown fields are ignored, and missing fields get the empty value of their type."""
    try:
        return _built(kind, document)
    except (TypeError, ValueError) as error:
        problem = f"the answer of the server is not a {kind.__name__}: {error}"
        raise Unreachable(f"{problem}; is this a Muster server, and as new as this program?") from None


def _built(kind: type[AnswerT], document: object) -> AnswerT:
    if not isinstance(document, Mapping):
        raise TypeError(f"an object was expected, not {type(document).__name__}")
    values: dict[str, Any] = {}
    for field in _plan(kind):
        value = document.get(field.name)
        if value is not None:
            values[field.name] = value if field.convert is None else field.convert(value)
        elif field.takes_null:
            values[field.name] = None
        elif field.nothing is not None:
            # null where a value is expected counts as not sent.
            values[field.name] = field.nothing()
    answer = kind(**values)
    object.__setattr__(answer, "document", dict(document))
    return answer


def _plan(kind: type[Answer]) -> tuple[_Field, ...]:
    if kind not in _plans:
        hints = get_type_hints(kind, include_extras=True)
        _plans[kind] = tuple(_field(each.name, hints[each.name]) for each in fields(kind) if each.init)
    return _plans[kind]


def _field(name: str, hint: Any) -> _Field:
    bare = _bare(hint)
    nothing: Callable[[], object] | None = _nothing(bare)
    for mark in marks(hint):
        if isinstance(mark, Needed):
            nothing = None
        elif isinstance(mark, Otherwise):
            nothing = mark.said
    return _Field(name=name, convert=_conversion(bare), takes_null=may_be_none(hint), nothing=nothing)


def _bare(hint: Any) -> Any:
    """The type without marks, and without null."""
    inner = without_none(unmarked(hint))
    return inner if inner is hint else _bare(inner)


def _conversion(hint: Any) -> Convert | None:
    if hint is datetime:
        return datetime.fromisoformat
    if get_origin(hint) is tuple:
        return _of_each(_conversion(_bare(get_args(hint)[0])))
    if get_origin(hint) is dict:
        return _of_values(_conversion(_bare(get_args(hint)[1])))
    if isinstance(hint, type) and issubclass(hint, Answer):
        return lambda document: _built(hint, document)
    return None


def _of_values(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: {key: convert(each) for key, each in value.items()} if isinstance(value, dict) else value


def _of_each(convert: Convert | None) -> Convert:
    def converted(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return tuple(value) if convert is None else tuple([convert(each) for each in value])

    return converted


def _nothing(hint: Any) -> Callable[[], object]:
    """Makes the value of a field of this type that an older server does not send."""
    if isinstance(hint, type) and issubclass(hint, Answer):
        return lambda: _built(hint, {})
    kind: Callable[[], object] = int if hint is float else get_origin(hint) or hint
    return kind
