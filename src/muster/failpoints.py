"""Places at which a test can kill the process.

`failpoint("append.before-commit")` does nothing unless the environment names it: with
`MUSTER_FAILPOINTS=append.before-commit=kill@3` the process is killed there the third time.
The environment is read once, when this module is imported.
"""

import os
import re
import signal

VARIABLE = "MUSTER_FAILPOINTS"

_WRITTEN = re.compile(r"(?P<name>[\w.-]+)=kill@(?P<times>[1-9]\d*)")


def failpoint(name: str) -> None:
    """Kill the process at once, as a lost machine would, if the environment names this place and this pass."""
    if name in _left:
        _left[name] -= 1
        if not _left[name]:
            os.kill(os.getpid(), signal.SIGKILL)


def _parsed(text: str) -> dict[str, int]:
    """How many times each named place is passed until the process is killed there."""
    found: dict[str, int] = {}
    for part in text.split(",") if text else ():
        written = _WRITTEN.fullmatch(part)
        if written is None:
            raise ValueError(f"{VARIABLE}: {part!r} is not of the form name=kill@3")
        found[written["name"]] = int(written["times"])
    return found


_left = _parsed(os.environ.get(VARIABLE, ""))
