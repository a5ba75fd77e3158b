"""Where agents connect: which are there, and how one is asked for another connection.

The API accepts connections and registers them here. Whoever needs another one, for a user at a terminal, asks with
`dial` and waits. Every method may be called on any thread.
"""

import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from muster.model.errors import NotFound
from muster.model.ids import NodeName
from muster.model.node_limits import AGENT_DIAL_S

Ask = Callable[[str], None]
"""Asks an agent for one more connection with this number. Never waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedAgent:
    """An agent that has connected."""

    node: NodeName
    channel: socket.socket
    """One end of a pair of sockets. The other end passes the conversation on to the agent."""
    address: str
    """Where other nodes reach this one."""


@dataclass(slots=True)
class _Dial:
    node: NodeName
    answered: threading.Event = field(default_factory=threading.Event)
    channel: socket.socket | None = None


class Switchboard:
    """The agents of one control plane."""

    def __init__(self) -> None:
        self.on_connected: Callable[[ConnectedAgent], None] = _refuse
        """Told of every agent that connects. It owns the channel from then on."""
        self._lock = threading.Lock()
        self._asks: dict[NodeName, Ask] = {}
        self._dials: dict[str, _Dial] = {}

    def connected(self, agent: ConnectedAgent, ask: Ask) -> None:
        """An agent has connected. It replaces an older connection of its node."""
        with self._lock:
            self._asks[agent.node] = ask
        self.on_connected(agent)

    def disconnected(self, node: NodeName, ask: Ask) -> None:
        """The connection that was registered with this function has ended."""
        with self._lock:
            if self._asks.get(node) is ask:
                del self._asks[node]

    def dial(self, node: NodeName, timeout_s: float = AGENT_DIAL_S) -> socket.socket:
        """One more connection to the supervisor of a node. Waits for it. Raises `NotFound`."""
        number, dial = secrets.token_hex(16), _Dial(node)
        with self._lock:
            ask = self._asks.get(node)
            self._dials[number] = dial
        try:
            if ask is None:
                raise NotFound(f"the agent of {node} is not connected")
            ask(number)
            dial.answered.wait(timeout_s)
        finally:
            with self._lock:
                del self._dials[number]
        if dial.channel is None:
            raise NotFound(f"the agent of {node} does not answer")
        return dial.channel

    def answered(self, node: NodeName, number: str, channel: socket.socket) -> bool:
        """An agent has opened the connection that it was asked for; False when nobody waits for it any more."""
        with self._lock:
            dial = self._dials.get(number)
            if dial is None or dial.node != node or dial.channel is not None:
                return False
            dial.channel = channel
        dial.answered.set()
        return True


def _refuse(agent: ConnectedAgent) -> None:
    """Nobody takes agents yet: hang up, and the agent tries again."""
    agent.channel.close()
