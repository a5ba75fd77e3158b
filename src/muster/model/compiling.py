"""What the compiler has to be told about a class, and whether it was at work. Without it, nothing changes."""

from functools import cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_marks):
        """Marks for mypyc, which reads them in the source.

        `allow_interpreted_subclasses=True` is for a compiled class that one which is not compiled derives from.
        """
        return lambda marked: marked


@cache
def is_compiled() -> bool:
    """True when the layers that decide run as compiled code, and not as plain Python."""
    # Found by its place, because the package that it is in imports this one.
    found = PathFinder.find_spec("cycle", [f"{__file__.rpartition('/model/')[0]}/core/planning"])
    return found is not None and found.origin is not None and not found.origin.endswith(".py")


__all__ = ["is_compiled", "mypyc_attr"]
