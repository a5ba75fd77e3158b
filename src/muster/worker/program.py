"""How a node runs another program of Muster: with the code of this one, wherever that is."""

import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2]
"""The folder that has the package in it."""

_RUN = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def program(module: str) -> tuple[str, ...]:
    """The command that runs a module of this Muster, which need not be installed: an agent brings its own code."""
    return (sys.executable, "-P", "-c", _RUN, str(SOURCE), module)
