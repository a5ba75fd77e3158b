"""What the model is made of: immutable values, and how to make a changed copy of one.

They are msgspec structs and not dataclasses, because every event makes some. To make a record of five fields takes a
fifth of the time, and a copy with one changed field a seventh. See docs/adr/0011-records-are-structs.md.

An agent brings itself to machines that have nothing but Python. There they are dataclasses, which a node is not too
slow for.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # mypy checks each keyword and its type for this function, for structs as well as for dataclasses.
    from dataclasses import fields
    from dataclasses import replace as evolve

    from msgspec import NODEFAULT, Struct
    from msgspec.structs import asdict
else:
    try:
        from msgspec import NODEFAULT, Struct
        from msgspec.structs import asdict
        from msgspec.structs import replace as evolve
    except ModuleNotFoundError:
        from dataclasses import MISSING as NODEFAULT
        from dataclasses import asdict, dataclass, fields
        from dataclasses import replace as evolve

        class Struct:
            """What records derive from: every class below it becomes a frozen dataclass."""

            def __init_subclass__(cls, **_options: bool) -> None:
                """Make a dataclass of it. The options are those of msgspec, which all records share."""
                super().__init_subclass__()
                dataclass(frozen=True, kw_only=True)(cls)


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
    if not hasattr(kind, "__struct_fields__"):
        return tuple((each.name, each.default) for each in fields(kind))
    names, known = kind.__struct_fields__, kind.__struct_defaults__
    # `__struct_defaults__` leaves out the leading fields that have no default.
    return tuple(zip(names, (REQUIRED,) * (len(names) - len(known)) + known, strict=True))


__all__ = ["REQUIRED", "Record", "asdict", "defaults", "evolve"]
