"""Whether a control plane is there and decides. While none does, a node enforces limits by itself."""

import time

from muster.model.node_limits import CONTROL_SILENCE_MS, control_silence_ms
from muster.worker.service import Message


class ControlPresence:
    """What is known of the control plane that greeted last.

    One that hangs keeps its connection open, and one that only listens or cannot write still sends messages.
    """

    def __init__(self) -> None:
        self._heard_s = 0.0
        """When its last message came."""
        self._silence_ms = CONTROL_SILENCE_MS
        """After how long without another it counts as away."""
        self._decides = True

    @property
    def is_felt(self) -> bool:
        """True while it is heard of, and says that it decides."""
        return self._decides and (time.monotonic() - self._heard_s) * 1000 <= self._silence_ms

    def greeted(self) -> None:
        """Another one has greeted."""
        self._decides = True
        self.heard()

    def heard(self) -> None:
        """It has sent a message."""
        self._heard_s = time.monotonic()

    def pinged(self, ping: Message) -> None:
        """It says whether it decides, and when its next ping comes."""
        self._decides = bool(ping.get("decides", True))
        self._silence_ms = control_silence_ms(int(ping.get("next_ms", 0)))
