"""The end of an agent's connection."""

import os
import socket

from muster.worker.agent.frames import BINARY, PING, Frame, encoded
from muster.worker.agent.tunnel import Tunnel
from muster.worker.loop import Loop


def test_what_was_said_last_arrives_also_if_something_was_left_unread() -> None:
    """The kernel answers a close with something unread by a reset, which takes back what is on its way."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    loop = Loop(settle=lambda: None)
    tunnel = Tunnel(ours, loop, lambda _: None)
    theirs.sendall(encoded(Frame(PING, b"unread"), os.urandom(4)))
    tunnel.send(BINARY, b"the exit code")
    tunnel.close()
    theirs.settimeout(5)
    heard = b""
    while data := theirs.recv(4096):
        heard += data
    theirs.close()
    loop.after(0, loop.stop)
    loop.run()
    loop.close()
    ours.close()
    assert len(heard) > len(b"the exit code")
