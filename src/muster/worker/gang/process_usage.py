"""How a process ended, and what it used of the machine with everything that it waited for."""

import os
import resource
import subprocess
from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnd:
    """The end of a process."""

    code: int
    """As a shell says it: 128 and the signal for one that a signal ended."""
    max_rss_bytes: int
    """The most memory that it, or a process that it waited for, had at once; 0 when that is not known.

    The kernel also counts what this process had when it started the child, so less than that cannot be told apart.
    """
    cpu_ms: int


def ended(child: "subprocess.Popen[bytes]") -> ProcessEnd:
    """Wait for a child. The kernel tells what it used to the one who waits, once."""
    _, status, used = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    child.returncode = code
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return ProcessEnd(
        code=128 - code if code < 0 else code,
        max_rss_bytes=used.ru_maxrss * KIB if used.ru_maxrss > own else 0,
        cpu_ms=round((used.ru_utime + used.ru_stime) * 1000),
    )
