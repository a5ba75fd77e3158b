"""The link to one post of an allocation: an agent that an engine has started, and that lives for one attempt.

Its silence proves nothing. The engine is asked what became of the allocation, and says whether the node is lost.
"""

import time
from pathlib import Path

from muster.backends.agents.switchboard import Switchboard
from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.engine import AllocationPhase
from muster.backends.allocations.posts import post_of
from muster.backends.local.agent_link import AgentLink
from muster.backends.local.link import Listener
from muster.backends.local.link import Phase as LinkPhase
from muster.model.ids import NodeName
from muster.model.instructions import Command, StartWorkers
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.model.node_limits import AGENT_RETURN_S
from muster.model.records import evolve
from muster.worker.loop import Loop
from muster.worker.service import Message


class AllocationLink(AgentLink):
    """The link to the agent of one node of an allocation."""

    def __init__(
        self,
        home: Path,
        allocation: EngineAllocation,
        node: NodeName,
        address: str,
        loop: Loop,
        listener: Listener,
        leadership: Leadership,
        switchboard: Switchboard,
    ) -> None:
        """`address` is where the engine says that the node is reached."""
        post = Node(name=post_of(allocation.id, node))
        super().__init__(home, post, loop, listener, leadership, switchboard)
        self.allocation = allocation
        self.real_node = node
        self.is_told_to_end = False
        """True once its supervisor was told to end."""
        self.behind: int | None = None
        """How many bytes of what was printed there have not come, as its agent says when all has ended."""
        self._engine_address = address
        self._silent_since_s = time.monotonic()

    @property
    def is_standing(self) -> bool:
        """False: its node is there without it."""
        return False

    @property
    def address(self) -> str:
        """Where the engine reaches the node, which is known before its agent connects."""
        return self._engine_address

    def is_heard_out(self, received: int) -> bool:
        """True also for a post that does not run, as far as the engine says."""
        is_running = self.allocation.phase is AllocationPhase.RUNNING and self.real_node not in self.allocation.lost
        return super().is_heard_out(received) or not (is_running or self.has_greeted)

    @property
    def silent_s(self) -> float:
        """For how long its agent has not been connected."""
        return 0.0 if self.is_up else time.monotonic() - self._silent_since_s

    @property
    def is_awaited(self) -> bool:
        """True while its agent may not have had the time to connect, as after a restart of the control plane."""
        return not self.has_greeted and self.silent_s < AGENT_RETURN_S

    @property
    def has_output_left(self) -> bool:
        """True while something that was printed there may not have come."""
        return self.has_greeted and self.behind != 0 and bool(self.hello.get("tells_behind"))

    def open(self) -> None:
        """Wait for the agent, for as long as the allocation lasts."""

    def told(self, command: Command) -> Command:
        """Without the image, where the engine runs the agent in it."""
        if isinstance(command, StartWorkers) and self.allocation.runs_images:
            return evolve(command, spec=evolve(command.spec, image="", mounts=()))
        return command

    def given(self, start: StartWorkers) -> Message:
        """Also how Muster numbers the GPUs of this post, because the engine numbers them itself."""
        body = super().given(start)
        return {"given": {**body["given"], "devices": list(self.allocation.devices(self.real_node))}}

    def end_orderly(self) -> None:
        """Have the supervisor end once everything it did is reported and acknowledged."""
        if self.is_up and not self.is_told_to_end:
            self.is_told_to_end = True
            self.say({"retire": True})

    def end_now(self) -> None:
        """Have the supervisor kill what it runs, and end."""
        self.is_told_to_end = True
        self.say({"end": True})

    def _greeted(self) -> None:
        self.is_told_to_end = False
        super()._greeted()

    def _fail(self, because: str) -> None:  # noqa: ARG002 - as in its base
        """It cannot be talked to now. Its agent tries again, and what it was told is said again then."""
        if self._phase is not LinkPhase.CLOSED:
            self._hang_up(LinkPhase.AWAY)

    def _hang_up(self, phase: LinkPhase) -> None:
        if self.is_up:
            self._silent_since_s = time.monotonic()
        super()._hang_up(phase)
