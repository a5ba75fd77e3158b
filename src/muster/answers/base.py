"""What all answers have in common."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from muster.annotations import field_docs

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Base of everything that the server says."""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}

    document: Document = field(init=False, repr=False, compare=False)
    """What the client made it from. pydantic passes over what is neither given nor has a default: it is never sent."""

    def __post_init__(self) -> None:
        """Of an answer that somebody made by hand there is no document."""
        object.__setattr__(self, "document", {})

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> Document:
        """The text below a field is what the OpenAPI document says of it."""
        described = handler(schema)
        properties = handler.resolve_ref_schema(described)["properties"]
        for name, text in field_docs(cls).items():
            if name in properties:
                properties[name]["description"] = text
        return described
