"""The links to all nodes: of this machine, and of others whose agents connect."""

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from muster.backends.agents.switchboard import ConnectedAgent, Switchboard
from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.link import AllocationLink
from muster.backends.base import Beside
from muster.backends.local.agent_link import AgentLink
from muster.backends.local.attachment import Attachment
from muster.backends.local.link import LOOPBACK, Link, Listener
from muster.backends.local.local_link import LocalLink
from muster.model.errors import NotFound
from muster.model.ids import LOCAL_ENGINE, EngineName, JobId, NodeName
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.model.node_limits import ping_ms
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
        options: tuple[str, ...],
        engines: Container[EngineName],
        ring: Callable[[], None],
    ) -> None:
        """`ring` wakes the thread that runs the loop."""
        self.switchboard = Switchboard()
        """Where agents connect."""
        self.switchboard.on_connected = self._take
        self._connected: deque[ConnectedAgent] = deque()
        self._ring = ring
        listener = replace(listener, ping_ms=lambda: ping_ms(len(self.by_name)))

        def link(node: Node) -> Link:
            if node.engine == LOCAL_ENGINE:
                return LocalLink(home, node, loop, listener, leadership, options)
            return AgentLink(home, node, loop, listener, leadership, self.switchboard)

        def post(allocation: EngineAllocation, node: NodeName, address: str) -> AllocationLink:
            return AllocationLink(home, allocation, node, address, loop, listener, leadership, self.switchboard)

        known = tuple(nodes)
        self.elsewhere = tuple(node for node in known if node.engine in engines)
        """Nodes that engines give away for a while. They have a supervisor only while they have an allocation."""
        self.by_name = {node.name: link(node) for node in known if node.engine not in engines}
        self._post = post

    def __iter__(self) -> Iterator[Link]:
        return iter(self.by_name.values())

    @property
    def are_known(self) -> bool:
        """True once every standing node has said what it runs, or has nothing left."""
        return all(link.has_greeted or link.is_swept for link in self if link.is_standing)

    def open_post(self, allocation: EngineAllocation, node: NodeName, address: str) -> AllocationLink:
        """A link to the agent of a node of an allocation, which will connect."""
        link = self._post(allocation, node, address)
        self.by_name[link.node.name] = link
        return link

    def expects(self, post: NodeName) -> bool:
        """True for the post of an allocation whose agent may connect. May be called on any thread."""
        return isinstance(self.by_name.get(post), AllocationLink)

    def output_told(self, post: NodeName, behind: int) -> None:
        """So many bytes of what was printed at a post have not come. May be called on any thread."""
        link = self.by_name.get(post)
        if isinstance(link, AllocationLink):
            link.behind = behind

    def close_post(self, post: NodeName) -> None:
        """Nobody talks to this agent any more."""
        self.by_name.pop(post).close()

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
            for name, link in tuple(self.by_name.items())
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
