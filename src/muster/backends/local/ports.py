"""Where a gang meets: a port that is free on this machine and the same for all of its workers.

The backend chooses it when it sends the starts, and tells it to every node with them. The first choice is derived from
the job and its attempt, so that two tries give the same port. A port that another gang has, or that a process listens
on, is passed over. Nodes keep the port, so that workers that join later find it after a restart too.
"""

import socket
from hashlib import sha256

from muster.model.ids import JobId
from muster.model.node_limits import MASTER_PORTS


def free_port(job: JobId, attempt: int, taken: frozenset[int]) -> int:
    """A port for this attempt; 0 when no port is left, which the gang finds out when it tries to meet."""
    first, last = MASTER_PORTS
    begin = int.from_bytes(sha256(f"{job} {attempt}".encode()).digest()[:4])
    candidates = (first + (begin + step) % (last - first) for step in range(last - first))
    return next((port for port in candidates if port not in taken and _is_free(port)), 0)


def _is_free(port: int) -> bool:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True
