"""Where a gang meets: a port of this machine that no other gang has, and the same for all of its workers.

The backend chooses it when it sends the starts, and tells it to every node with them. The first choice is derived from
the job and its attempt, so that two tries give the same port. Nodes keep the port, so that workers that join later find
it after a restart too.

The gang opens the port much later than it is chosen. So each port is reserved for as long as its gang lives, on the
whole machine: by an abstract socket with the port in its name, which other Musters see too, and which goes with the
process that holds it. A port that another program listens on is passed over. A program that takes the port in between
makes the gang fail to meet, and the next attempt has another port.
"""

import errno
import socket
from hashlib import sha256

from muster.model.ids import JobId
from muster.model.node_limits import MASTER_PORTS


class ReservedPorts:
    """The ports of the gangs of one backend."""

    def __init__(self) -> None:
        self._held: dict[int, socket.socket] = {}

    def choose(self, job: JobId, attempt: int, taken: frozenset[int]) -> int:
        """A port for this attempt; 0 when no port is left, which the gang finds out when it tries to meet.

        `taken` are the ports of all gangs that live. Other ports are given back. Ports that nodes have kept are
        reserved again.
        """
        for port in self._held.keys() - taken:
            self._held.pop(port).close()
        for port in taken:
            self._reserve(port)
        first, last = MASTER_PORTS
        begin = int.from_bytes(sha256(f"{job} {attempt}".encode()).digest()[:4])
        candidates = (first + (begin + step) % (last - first) for step in range(last - first))
        return next((port for port in candidates if port not in taken and self._is_free(port)), 0)

    def close(self) -> None:
        """Give all ports back."""
        for each in self._held.values():
            each.close()
        self._held.clear()

    def _is_free(self, port: int) -> bool:
        """True when nothing listens on the port, which is reserved then."""
        if not self._reserve(port):
            return False
        if _can_listen(port):
            return True
        self._held.pop(port).close()
        return False

    def _reserve(self, port: int) -> bool:
        """True when this backend has reserved the port."""
        if port in self._held:
            return True
        mark = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            mark.bind(f"\0muster-port-{port}")
        except OSError:
            mark.close()
            return False
        self._held[port] = mark
        return True


def _can_listen(port: int) -> bool:
    """True when a program can listen on this port, on the loopback and on all addresses."""
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, ""), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.bind((address, port))
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                return False
    return True
