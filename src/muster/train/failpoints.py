"""Places at which a test can kill the process, as `MUSTER_FAILPOINTS=save.before-part=kill@3` says.

The same words as elsewhere in Muster, which this package does not import. The environment is read once.
"""

import os
import re
import signal

_WRITTEN = re.compile(r"(?P<name>[\w.-]+)=kill@(?P<times>[1-9]\d*)")


def failpoint(name: str) -> None:
    """Kill the process at once, as a lost machine would, if the environment names this place and this pass."""
    if name in _left:
        _left[name] -= 1
        if not _left[name]:
            os.kill(os.getpid(), signal.SIGKILL)


def _parsed(text: str) -> dict[str, int]:
    # What is not of this form is for other programs to complain about: training does not stop for it.
    written = (_WRITTEN.fullmatch(part) for part in text.split(","))
    return {found["name"]: int(found["times"]) for found in written if found is not None}


_left = _parsed(os.environ.get("MUSTER_FAILPOINTS", ""))
