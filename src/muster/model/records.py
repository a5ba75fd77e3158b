"""How records are made, and how one becomes the next."""

from typing import TYPE_CHECKING

from muster.model.compiling import is_compiled

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace as changed
else:
    from dataclasses import dataclass

    def record(*, frozen, eq=True, **marks):
        """`dataclass` for the records of which every event makes some.

        In plain Python, where they are tested, nobody can change one. In a compiled installation nothing checks that
        again: a frozen record takes three times as long to make.
        """
        is_frozen = frozen and not is_compiled()
        return dataclass(frozen=is_frozen, eq=eq, unsafe_hash=eq and not is_frozen, **marks)

    def changed(record, /, **changes):
        """`dataclasses.replace` for frozen records without slots, many times as fast: every event goes through it."""
        made = object.__new__(type(record))
        # The way round the record's own `__setattr__`, which refuses: `made` is nobody's yet.
        object.__setattr__(made, "__dict__", record.__dict__ | changes)
        return made


__all__ = ["changed", "record"]
