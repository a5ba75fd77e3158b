"""A part of a file as JSON Schema, for the OpenAPI document: for people, generated clients and fuzzing.

Kinds accept more when they read a file than a schema can say. The schema describes the common spelling.
"""

from enum import Enum
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from muster.annotations import field_docs, marks, unmarked, without_none
from muster.formats.parts.kinds import TEXT_SCHEMA, Kind, Spelling
from muster.formats.parts.parts import Part
from muster.model.records import REQUIRED

Schema = dict[str, Any]


_BOUNDS = {"ge": "minimum", "le": "maximum"}
_LENGTHS = {list: "maxItems", dict: "maxProperties"}
_ANY_KEY = ({"type": "string"}, TEXT_SCHEMA)


def part_schema(part: type[Part]) -> Schema:
    """The schema of a part with all its keys."""
    told = field_docs(part)
    required = [*part.required, *(key.name for key in part.keys.values() if key.default is REQUIRED)]
    return {
        "type": "object",
        "description": " ".join((part.__doc__ or "").split()),
        "properties": {name: _described(_of(hint), told.get(name)) for name, hint in part.known_keys().items()},
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _described(schema: Schema, doc: str | None) -> Schema:
    return schema if doc is None else {**schema, "description": doc}


def _of(hint: Any) -> Schema:
    kind = next((mark for mark in marks(hint) if isinstance(mark, Kind)), None)
    schema = _of_type(unmarked(hint)) if kind is None else dict(kind.schema)
    for mark in marks(hint):
        if isinstance(mark, FieldInfo):
            schema |= _bounds(mark, get_origin(unmarked(hint)))
        elif isinstance(mark, Spelling):
            schema |= mark.facts
    return schema


def _of_type(hint: Any) -> Schema:
    arguments = get_args(hint)
    if get_origin(hint) is list:
        return {"type": "array", "items": _of(arguments[0])}
    if get_origin(hint) is dict:
        keys = _of(arguments[0])
        names = {} if keys in _ANY_KEY else {"propertyNames": keys}
        return {"type": "object", **names, "additionalProperties": _of(without_none(arguments[1]))}
    if issubclass(hint, Part):
        return part_schema(hint)
    if issubclass(hint, Enum):
        return {"enum": [each.value for each in hint]}
    return {"type": {bool: "boolean", int: "integer", str: "string"}[hint]}


def _bounds(info: FieldInfo, container: Any) -> Schema:
    found = {}
    for mark in info.metadata:
        for name, keyword in (*_BOUNDS.items(), ("max_length", _LENGTHS.get(container, "maxLength"))):
            if (bound := getattr(mark, name, None)) is not None:
                found[keyword] = bound
    return found
