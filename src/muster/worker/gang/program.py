"""The program that workers of a gang run."""

import sys
from pathlib import Path

SOURCE = Path(__file__).parents[3]
"""The folder that has this package in it."""


def gang_program() -> tuple[str, ...]:
    """The command that workers of a gang run. Isolated from what the job has on Python's path."""
    begin = f"import sys; sys.path.append({str(SOURCE)!r}); from muster.worker.gang.__main__ import main"
    return (sys.executable, "-I", "-S", "-c", f"{begin}; sys.exit(main(sys.argv[1:]))")
