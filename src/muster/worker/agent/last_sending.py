"""The end of an agent in an allocation: its supervisor stays until all that was printed is with the control plane.

The supervisor says when nothing more is printed (`worker/last_output`). The control plane is told what it lacks, so
that it neither ends the allocation too early nor takes what it has for everything:

    {"behind": 0}   to the control plane: it has all of every file; or how many bytes it lacks, from an agent that ends
    {"behind": 0}   back: it knows
"""

import json
import time

from muster.worker.agent.frames import TEXT
from muster.worker.agent.mirror import Mirror
from muster.worker.agent.tunnel import Tunnel
from muster.worker.loop import Loop
from muster.worker.service import Conversation, Message
from muster.worker.supervisor_address import SupervisorLine

LOOK_MS = 20

UNANSWERED_S = 5.0
"""After how long without an answer the control plane counts as one that does not know this message."""


class LastSending:
    """Tells the supervisor when it may end."""

    def __init__(self, mirror: Mirror, loop: Loop) -> None:
        self._is_unwanted = False
        """True once nobody takes what is left."""
        self._mirror = mirror
        self._loop = loop
        self._tunnel: Tunnel | None = None
        self._supervisor: Conversation | None = None
        self._is_over = False
        """True once nothing more is printed."""
        self._told_s: float | None = None
        """When this control plane was told that it has everything."""
        self._is_known = False

    def begin(self, tunnel: Tunnel, supervisor: SupervisorLine) -> None:
        """A control plane and a supervisor were found, perhaps again."""
        self._tunnel, self._told_s, self._is_known = tunnel, None, False
        self._meet(supervisor)

    def abandon(self, supervisor: SupervisorLine | None) -> None:
        """No control plane wants what is left."""
        self._is_unwanted = True
        if self._supervisor is None and supervisor is not None:
            self._meet(supervisor)

    def answered(self) -> None:
        """The control plane knows that it has everything."""
        self._is_known = True

    def give_up(self) -> None:
        """The supervisor has ended. Say what is lost, if anything is."""
        if self._mirror.behind and self._tunnel is not None:
            self._tell(self._tunnel, self._mirror.behind)

    def _meet(self, supervisor: SupervisorLine) -> None:
        before, self._supervisor = self._supervisor, Conversation(supervisor.channel, self._loop, hear=self._hear)
        if before is not None:
            before.close()
        self._is_over = False
        self._supervisor.say({"token": supervisor.token, "as": "agent"})
        self._supervisor.flush()

    def _hear(self, supervisor: Conversation, message: Message) -> None:
        if "over" in message and supervisor is self._supervisor and not self._is_over:
            self._is_over = True
            self._look(supervisor)

    def _look(self, supervisor: Conversation) -> None:
        if supervisor is not self._supervisor or not supervisor.is_open:
            return
        if self._is_unwanted or self._is_all_there():
            supervisor.say({"sent": True})
            supervisor.flush()
        else:
            self._loop.after(LOOK_MS, lambda: self._look(supervisor))

    def _is_all_there(self) -> bool:
        """True when the control plane has everything, and knows it."""
        tunnel = self._tunnel
        if tunnel is None or not tunnel.is_open:
            return False
        self._mirror.look(lambda message: tunnel.send(TEXT, json.dumps(message).encode()))
        if not self._mirror.is_level:
            return False
        if self._told_s is None:
            self._told_s = time.monotonic()
            self._tell(tunnel, 0)
        return self._is_known or time.monotonic() - self._told_s > UNANSWERED_S

    def _tell(self, tunnel: Tunnel, behind: int) -> None:
        tunnel.send(TEXT, json.dumps({"behind": behind}).encode())
