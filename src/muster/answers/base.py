"""What all answers have in common."""

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

Document = dict[str, Any]


class Answer:
    """Base of everything that the server says. The client keeps in `document` what it was made from."""

    __slots__ = ("document",)
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}

    document: Document

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> Document:
        """The text below a field is what the OpenAPI document says of it."""
        from muster.field_docs import field_docs  # noqa: PLC0415 (only the API needs it)

        described = handler(schema)
        properties = handler.resolve_ref_schema(described)["properties"]
        for name, text in field_docs(cls).items():
            if name in properties:
                properties[name]["description"] = text
        return described
