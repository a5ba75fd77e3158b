"""What the tasks of a step used of the machine, as their ends tell it."""

from typing import Any

from muster.worker.gang.line import Message


class StepUsed:
    """What all tasks that have ended used."""

    def __init__(self) -> None:
        self._max_rss_bytes = 0
        self._largest: dict[str, Any] = {}
        """The task with the most memory, and its node."""
        self._cpu_ms = 0

    def add(self, task: int, node: str, end: Message) -> None:
        """A task has ended. One that could not be started used nothing."""
        self._cpu_ms += int(end.get("cpu_ms", 0))
        rss_bytes = int(end.get("max_rss_bytes", 0))
        if rss_bytes > self._max_rss_bytes:
            self._max_rss_bytes = rss_bytes
            self._largest = {"max_rss_task": task, "max_rss_node": node}

    @property
    def told(self) -> dict[str, Any]:
        """As it is written down."""
        return {"max_rss_bytes": self._max_rss_bytes, "cpu_ms": self._cpu_ms, **self._largest}
