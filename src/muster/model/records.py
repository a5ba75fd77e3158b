"""What the model is made of: values that nobody can change, and how one becomes the next.

Structs of msgspec and not dataclasses, because every event makes some: a record of five fields takes a fifth of the
time to make, and one that differs in a field a seventh. See docs/adr/0011-records-are-structs.md.
"""

from functools import cache
from typing import TYPE_CHECKING

from msgspec import NODEFAULT, Struct

if TYPE_CHECKING:
    # As one function mypy knows both: this one has each keyword and its type checked, for structs as for dataclasses.
    from dataclasses import replace as evolve
else:
    from msgspec.structs import replace as evolve

REQUIRED = NODEFAULT
"""In place of a default, where there is none."""


class Record(Struct, frozen=True, kw_only=True, gc=False):
    """A value with named fields. Two of one type with the same fields are the same value.

    Its fields are numbers, texts, members of enums, other records, and tuples of these. Nothing of that can lead back
    to it, so the collector of cyclic garbage is not told of records.
    """


@cache
def defaults(kind: type[Record]) -> tuple[tuple[str, object], ...]:
    """The name of each field with its default, or `REQUIRED`, in the order in which they stand."""
    names, known = kind.__struct_fields__, kind.__struct_defaults__
    # Of the fields in front that have none, nothing is kept.
    return tuple(zip(names, (REQUIRED,) * (len(names) - len(known)) + known, strict=True))


__all__ = ["REQUIRED", "Record", "defaults", "evolve"]
