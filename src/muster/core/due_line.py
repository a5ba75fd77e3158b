"""Who would be running by now if everybody were served in the order of submission.

All jobs that have not ended stand in one line. A job is *due* once it and everybody before it would fit into the
cluster together, by GPUs. Waiting before that is nobody's fault; waiting after it is time that others took.
"""

from bisect import bisect_left, insort

from muster.model.compiling import mypyc_attr
from muster.model.ids import JobId


@mypyc_attr(allow_interpreted_subclasses=True)
class DueLine:
    """Jobs in the order of submission, and how far down the line the cluster reaches."""

    def __init__(self, capacity_milli: int) -> None:
        self.capacity_milli = capacity_milli
        self._line: list[tuple[int, JobId]] = []
        self._milli: dict[JobId, int] = {}
        self._due = 0
        """How many from the front have been found due."""
        self._due_milli = 0
        """What those of them need that have not ended."""

    def join(self, job: JobId, submitted_ms: int, gpu_milli: int) -> None:
        """A job was submitted."""
        place = (submitted_ms, job)
        if bisect_left(self._line, place) < self._due:
            self._due += 1
            self._due_milli += gpu_milli
        insort(self._line, place)
        self._milli[job] = gpu_milli

    def leave(self, job: JobId, submitted_ms: int) -> None:
        """A job ended; of no effect when it is not in the line."""
        gpu_milli = self._milli.pop(job, None)
        if gpu_milli is None:
            return
        at = bisect_left(self._line, (submitted_ms, job))
        del self._line[at]
        if at < self._due:
            self._due -= 1
            self._due_milli -= gpu_milli

    def advance(self) -> list[JobId]:
        """Those who have become due since the last call, in order. Nobody ever ceases to be due."""
        found: list[JobId] = []
        while self._due < len(self._line):
            job = self._line[self._due][1]
            if self._due_milli + self._milli[job] > self.capacity_milli:
                break
            self._due += 1
            self._due_milli += self._milli[job]
            found.append(job)
        return found
