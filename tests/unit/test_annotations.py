from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from muster.annotations import field_docs, marks, may_be_none, unmarked, without_none


@dataclass
class Shape:
    """A shape."""

    area: float
    """In square
    metres."""
    name: str
    edges: int = 3
    """How many."""


@dataclass
class Square(Shape):
    side: float = 1
    """Of each edge."""
    edges: int = 4
    """Always four."""


def test_the_text_below_a_field_is_found_also_where_it_is_inherited_or_said_anew() -> None:
    assert field_docs(Shape) == {"area": "In square metres.", "edges": "How many."}
    assert field_docs(Square) == {"area": "In square metres.", "edges": "Always four.", "side": "Of each edge."}


def test_a_class_without_a_source_has_no_texts() -> None:
    made = type("Made", (), {"__annotations__": {"a": int}, "__module__": "nowhere"})
    assert field_docs(made) == {}


@pytest.mark.parametrize(
    ("hint", "type_", "found", "is_optional"),
    [
        (int, int, (), False),
        (int | None, int, (), True),
        (Annotated[int, "a", "b"], int, ("a", "b"), False),
        (Annotated[int | None, "a"], int, ("a",), True),
    ],
)
def test_an_annotation_is_taken_apart(hint: Any, type_: type, found: tuple[str, ...], is_optional: bool) -> None:
    assert without_none(unmarked(hint)) is type_
    assert marks(hint) == found
    assert may_be_none(hint) is is_optional
