"""The pauses between polls of a client that waits."""

from collections.abc import Iterator

SHORTEST_S = 0.1
LONGEST_S = 2.0
GROWTH = 1.5


def pauses_s() -> Iterator[float]:
    """Seconds between one poll and the next, without end: short at first, then longer."""
    pause_s = SHORTEST_S
    while True:
        yield pause_s
        pause_s = min(LONGEST_S, pause_s * GROWTH)
