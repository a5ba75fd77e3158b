"""A supervisor in an allocation ends last: what its workers have printed goes with its node.

The agent beside it sends the output. Once nothing runs any more, the agent is told so, and the supervisor stays until
the agent has sent everything. So the connection to the control plane is there until then, and is opened again if it
breaks.

    {"token": …, "as": "agent"}   from the agent
    {"over": true}                to it: nothing more is printed
    {"sent": true}                from it: the control plane has everything, or does not want it
"""

from muster.model.node_limits import OUTPUT_SEND_S
from muster.worker.loop import Loop
from muster.worker.service import Conversation, Message


class LastOutput:
    """Whether what was printed on a node is known elsewhere."""

    def __init__(self, loop: Loop, *, is_awaited: bool) -> None:
        """`is_awaited` is False for a node that stays: its output is sent whenever an agent is there."""
        self.is_sent = not is_awaited
        """True when nothing is lost if the supervisor ends, or when it has been waited for long enough."""
        self._loop = loop
        self._agent: Conversation | None = None
        self._is_over = False

    def hear(self, agent: Conversation, message: Message) -> None:
        """An agent begins, in place of an older one, or says that it has sent everything."""
        if message.get("as") == "agent":
            self._agent = agent
            if self._is_over:
                self._tell(agent)
        elif agent is self._agent and self._is_over:
            self._sent()

    def over(self) -> None:
        """Nothing runs any more. May be called again."""
        if self._is_over:
            return
        self._is_over = True
        if not self.is_sent:
            self._loop.after(OUTPUT_SEND_S * 1000, self._sent)
        if self._agent is not None:
            self._tell(self._agent)

    def _tell(self, agent: Conversation) -> None:
        agent.say({"over": True})
        agent.flush()

    def _sent(self) -> None:
        self.is_sent = True
