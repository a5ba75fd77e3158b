"""What annotations of answers say beyond their types: how a value is sent, and what the client may rely on.

pydantic asks a mark for its schema by calling methods with fixed names. The client never calls them, so it does not
load pydantic.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from muster.annotations import without_none

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema


class Needed:
    """A field without which an answer makes no sense. Other fields that an older server does not send are empty."""


NEEDED = Needed()


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The value of a field that an older server does not send, where that is not the empty value of its type."""

    value: object

    def said(self) -> object:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True)
class Word:
    """A text that is one of these words. A newer server may know more words."""

    words: type[StrEnum]

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Sent as a member of the enumeration."""
        return handler(self.words)


@dataclass(frozen=True, slots=True)
class Items:
    """A list whose items the client leaves as plain JSON."""

    kind: type

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Sent as a list of this kind."""
        return handler(tuple[self.kind, ...])  # type: ignore[name-defined]


class AlwaysSent:
    """A field that the server always sends. Only an older server may leave it out."""

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Sent as the type without null."""
        return handler(without_none(source))


SENT = AlwaysSent()


class NullIfEmpty:
    """A text that is sent as null when it is empty."""

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """A text or null."""
        from pydantic_core import core_schema  # noqa: PLC0415 (only the API needs it)

        sent = core_schema.plain_serializer_function_ser_schema(lambda text: text or None)
        return core_schema.nullable_schema(core_schema.str_schema(), serialization=sent)


NULL_IF_EMPTY = NullIfEmpty()


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An example of the value, for the OpenAPI document."""

    value: object

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        """The schema with the example."""
        return {**handler(schema), "examples": [self.value]}


def time_text(moment: datetime) -> str:
    """A moment in RFC 3339 in UTC, without a fraction for whole seconds."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


class Moment:
    """A moment, sent in RFC 3339."""

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Sent as a text."""
        from pydantic_core import core_schema  # noqa: PLC0415 (only the API needs it)

        return core_schema.datetime_schema(serialization=core_schema.plain_serializer_function_ser_schema(time_text))

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        """A text in the `date-time` format."""
        facts = {"format": "date-time", "description": "In UTC.", "examples": ["2026-01-01T00:00:00Z"]}
        return {"type": "string", **facts}


Time = Annotated[datetime | None, Moment()]
"""A moment that the server always sends. `Time | None` may be null."""
