"""What the model is made of: immutable values, and how to make a changed copy of one.

They are msgspec structs and not dataclasses, because every event makes some. To make a record of five fields takes a
fifth of the time, and a copy with one changed field a seventh. See docs/adr/0011-records-are-structs.md.

An agent brings itself to machines that have nothing but Python. There they are what `plain_struct` makes of them.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # mypy checks each keyword and its type for this function, for structs as well as for dataclasses.
    from dataclasses import replace as evolve

    from msgspec import NODEFAULT, Struct
    from msgspec.structs import asdict
else:
    try:
        from msgspec import NODEFAULT, Struct
        from msgspec.structs import asdict
        from msgspec.structs import replace as evolve
    except ModuleNotFoundError:
        from muster.model.plain_struct import NODEFAULT, Struct, asdict
        from muster.model.plain_struct import replace as evolve


REQUIRED = NODEFAULT
"""Stands in place of a default when a field has none."""


class Record(Struct, frozen=True, kw_only=True, gc=False):
    """A value with named fields. Two records of one type with equal fields are equal.

    Its fields are numbers, strings, enum members, other records, and tuples of these. None of them can refer back to
    it, so the cyclic garbage collector does not track records.
    """


@cache
def defaults(kind: Any) -> tuple[tuple[str, object], ...]:
    """The name of each field with its default or `REQUIRED`, in the order of the fields."""
    names, known = kind.__struct_fields__, kind.__struct_defaults__
    # `__struct_defaults__` leaves out the leading fields that have no default.
    return tuple(zip(names, (REQUIRED,) * (len(names) - len(known)) + known, strict=True))


__all__ = ["REQUIRED", "Record", "asdict", "defaults", "evolve"]
