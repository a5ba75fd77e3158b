"""What annotations of answers say beyond their types: how a value is sent, and what the client may rely on.

pydantic asks a mark for its schema by methods with set names. None is needed, and nothing of pydantic is loaded, where
nobody asks.
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
    """Without it an answer makes no sense. What else an older server does not send is nothing of its type."""


NEEDED = Needed()


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What is meant when an older server does not send a field, where that is not nothing."""

    value: object

    def said(self) -> object:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True)
class Word:
    """A text that is one of these words as this server knows them. A newer one may know more."""

    words: type[StrEnum]

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Sent as a member."""
        return handler(self.words)


@dataclass(frozen=True, slots=True)
class Items:
    """A list whose items the client leaves as they came."""

    kind: type

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Sent as a list of this kind."""
        return handler(tuple[self.kind, ...])  # type: ignore[name-defined]


class AlwaysSent:
    """A field that the server always sends: only an older one may leave it out."""

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """What is sent is never null."""
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
    """What such a value may be, for the OpenAPI document."""

    value: object

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        """The schema with the example."""
        return {**handler(schema), "examples": [self.value]}


def time_text(moment: datetime) -> str:
    """A moment in RFC 3339 in UTC, without a fraction where there is none."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


class Moment:
    """A moment, sent in RFC 3339."""

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Sent as a text."""
        from pydantic_core import core_schema  # noqa: PLC0415 (only the API needs it)

        return core_schema.datetime_schema(serialization=core_schema.plain_serializer_function_ser_schema(time_text))

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        """A text of this form."""
        facts = {"format": "date-time", "description": "In UTC.", "examples": ["2026-01-01T00:00:00Z"]}
        return {"type": "string", **facts}


Time = Annotated[datetime | None, Moment()]
"""A moment that this server always sends; `Time | None` may be null."""
