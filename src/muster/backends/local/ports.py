"""Where a gang meets: a port that is free on this machine and the same for all of its workers.

Chosen in one place, by whoever sends the starts, and told to every node with them. The first choice follows from the
job and its attempt, so that two tries give the same port; what another gang has, or somebody listens on, is passed
over. Nodes keep it, so that workers that join later find it after a restart too.
"""

import socket
from hashlib import sha256

from muster.model.ids import JobId
from muster.model.node_limits import MASTER_PORTS


def free_port(job: JobId, attempt: int, taken: frozenset[int]) -> int:
    """A port for this attempt; 0 when there is none left, which then is the gang's to find out."""
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
