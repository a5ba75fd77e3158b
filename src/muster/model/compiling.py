"""Marks for the compiler, and whether the code is compiled. Without the compiler, the marks have no effect."""

from functools import cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_marks):
        """Marks for mypyc, which reads them in the source.

        `allow_interpreted_subclasses=True` is for a compiled class with a subclass that is not compiled.
        """
        return lambda marked: marked


@cache
def is_compiled() -> bool:
    """True when the planning code runs as compiled code, not as plain Python."""
    # Found by its path, because the package that contains it imports this one.
    found = PathFinder.find_spec("cycle", [f"{__file__.rpartition('/model/')[0]}/core/planning"])
    return found is not None and found.origin is not None and not found.origin.endswith(".py")


__all__ = ["is_compiled", "mypyc_attr"]
