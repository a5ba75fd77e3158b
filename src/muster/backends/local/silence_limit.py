"""How long to wait for a supervisor, counted in rounds and not by a clock.

A process that was stopped, or kept from running, finds that hours have passed and that it has read nothing. What came
meanwhile waits in the socket. However long it stood still, that is one round, and in the next it reads what is there.
"""

ROUNDS_MIN = 2
"""At least two: in one round nothing may have been read, because this process stood still."""


class SilenceLimit:
    """Ends after a number of rounds without a message."""

    def __init__(self, wait_ms: float, round_ms: float) -> None:
        self.round_ms = round_ms
        self._rounds_max = max(round(wait_ms / round_ms), ROUNDS_MIN)
        self._rounds = 0

    def heard(self) -> None:
        """A message came: begin to count anew."""
        self._rounds = 0

    def pass_round(self) -> bool:
        """Another round has passed in silence. True when it was the last."""
        self._rounds += 1
        return self._rounds > self._rounds_max
