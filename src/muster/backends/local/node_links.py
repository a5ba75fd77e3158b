"""The links to all nodes: of this machine, and of others whose agents connect."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from muster.backends.agents.switchboard import ConnectedAgent, Switchboard
from muster.backends.base import Beside
from muster.backends.local.agent_link import AgentLink
from muster.backends.local.attachment import Attachment
from muster.backends.local.link import LOOPBACK, Link, Listener
from muster.backends.local.local_link import LocalLink
from muster.model.errors import NotFound
from muster.model.ids import LOCAL_ENGINE, JobId, NodeName
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.worker.loop import Loop


class NodeLinks:
    """One link for each node, by its name."""

    def __init__(
        self,
        home: Path,
        nodes: Iterable[Node],
        loop: Loop,
        listener: Listener,
        leadership: Leadership,
        *,
        options: tuple[str, ...],
        ring: Callable[[], None],
    ) -> None:
        """`ring` wakes the thread that runs the loop."""
        self.switchboard = Switchboard()
        """Where agents connect."""
        self.switchboard.on_connected = self._take
        self._connected: deque[ConnectedAgent] = deque()
        self._ring = ring

        def link(node: Node) -> Link:
            if node.engine == LOCAL_ENGINE:
                return LocalLink(home, node, loop, listener, leadership, options)
            return AgentLink(home, node, loop, listener, leadership, self.switchboard)

        self.by_name = {node.name: link(node) for node in nodes}

    def __iter__(self) -> Iterator[Link]:
        return iter(self.by_name.values())

    def open(self) -> None:
        """Find all supervisors, or wait for them."""
        for link in self:
            link.open()

    def close(self) -> None:
        """Disconnect from all. They go on."""
        for link in self:
            link.close()

    def test(self, node: NodeName, number: int) -> None:
        """Have a node run its test, if it knows how."""
        link = self.by_name[node]
        if link.hello.get("probes"):
            link.say({"test": number})

    def limits(self) -> dict[NodeName, tuple[str, tuple[str, ...]]]:
        """How each node that is up limits its workers, and what it does not limit."""
        return {
            name: (link.hello.get("limits", ""), tuple(link.hello.get("unlimited", ())))
            for name, link in self.by_name.items()
            if link.is_up
        }

    def address(self, node: NodeName | None) -> str:
        """Where other nodes reach this one."""
        link = None if node is None else self.by_name.get(node)
        return LOOPBACK if link is None else link.address

    def attach(self, node: NodeName | None, job: JobId, beside: Beside | None) -> Attachment:
        """A user's connection to the supervisor of a node. May be called on any thread, and waits."""
        link = None if node is None else self.by_name.get(node)
        if link is None:
            raise NotFound(f"job {job} runs on no node of this cluster")
        return link.attach(job, beside)

    def admit(self) -> None:
        """Hand agents that have connected to their links."""
        while self._connected:
            agent = self._connected.popleft()
            link = self.by_name.get(agent.node)
            if isinstance(link, AgentLink):
                link.accept(agent)
            else:
                agent.channel.close()

    def _take(self, agent: ConnectedAgent) -> None:
        """An agent has connected. May be called on any thread."""
        self._connected.append(agent)
        self._ring()
