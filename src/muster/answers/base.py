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
    """Base of all answers of the server."""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}

    document: Document = field(init=False, repr=False, compare=False)
    """The JSON from which the client built it. Never sent: pydantic skips a field that is not in `__init__` and has no
    default."""

    def __post_init__(self) -> None:
        """Start with an empty document, for answers that were not built from JSON."""
        object.__setattr__(self, "document", {})

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> Document:
        """The schema, with the text below each field as its description."""
        described = handler(schema)
        properties = handler.resolve_ref_schema(described)["properties"]
        for name, text in field_docs(cls).items():
            if name in properties:
                properties[name]["description"] = text
        return described
