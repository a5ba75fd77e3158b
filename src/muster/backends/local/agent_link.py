"""The link to a node on another machine, whose agent connects to the control plane by itself.

    away ── its agent connects ──▶ greeting ──▶ up
     ▲                                │          │
     └── hung up; lost after a while ◀┴──────────┘

Nothing that cannot be talked to can be ended from here. So a node that is lost is unreachable, and what it ran counts
as alive, until its agent is back.
"""

from pathlib import Path

from muster.backends.agents.switchboard import ConnectedAgent, Switchboard
from muster.backends.base import Beside
from muster.backends.local.attachment import Attachment, greeting
from muster.backends.local.link import LOOPBACK, Link, Listener, Phase
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.model.instructions import StartWorkers
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.model.node_limits import AGENT_ABSENT_MS, AGENT_DIAL_S
from muster.worker.launch.secret_files import given_to
from muster.worker.loop import Loop
from muster.worker.service import Message


class AgentLink(Link):
    """The link to one node of another machine."""

    def __init__(
        self,
        home: Path,
        node: Node,
        loop: Loop,
        listener: Listener,
        leadership: Leadership,
        switchboard: Switchboard,
    ) -> None:
        super().__init__(node, loop, listener, leadership)
        self._home = home
        self._switchboard = switchboard
        self._address = LOOPBACK

    @property
    def address(self) -> str:
        """Where other nodes reach this one: the address from which its agent connected, or the one it named."""
        return self._address

    def open(self) -> None:
        """Wait for the agent. After a while without it, the node cannot be reached."""
        if self._phase is Phase.AWAY and not self.is_lost:
            self._later(AGENT_ABSENT_MS, lambda: self._fail("its agent is not connected"))

    def accept(self, agent: ConnectedAgent) -> None:
        """The agent has connected, perhaps again before the end of its last connection was noticed."""
        if self._phase is Phase.CLOSED:
            agent.channel.close()
            return
        self._hang_up(Phase.AWAY)
        self._address = agent.address
        self._meet(agent.channel, "")  # the agent adds the token, which never leaves its node

    def attach(self, job: JobId, beside: Beside | None) -> Attachment:
        """The terminal of an interactive job, or a command beside a worker."""
        channel = self._switchboard.dial(self.node.name)
        try:
            channel.settimeout(AGENT_DIAL_S)
            channel.sendall(greeting(job, beside))
            channel.settimeout(None)
        except OSError as error:
            channel.close()
            raise NotFound(f"the supervisor of job {job} cannot be reached: {error.strerror}") from error
        return Attachment(channel)

    def given(self, _start: StartWorkers) -> Message:
        """Secrets and the token of the attempt, which the node has no home to read from."""
        return {"given": given_to(self._home, _start)}
