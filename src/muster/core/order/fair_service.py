"""Which jobs would be running by now if all jobs were served in the order of submission.

All jobs that have not ended stand in one line. A job is *due* once it and all jobs before it would fit into the
cluster together, counted in GPUs. Waiting before that is unavoidable. Waiting after that is time that other jobs took.
"""

from bisect import bisect_left, insort

from muster.model.ids import JobId
from muster.model.saved_state import FairServiceRecord


class FairService:
    """Jobs in the order of submission, and how far down the line the cluster reaches."""

    def __init__(self, capacity_milli: int) -> None:
        self.capacity_milli = capacity_milli
        self._line: list[tuple[int, JobId]] = []
        self._milli: dict[JobId, int] = {}
        self._due = 0
        """How many jobs from the front have been found due."""
        self._due_milli = 0
        """The GPU thousandths that these jobs need together."""
        self.wanted_milli = 0
        """The GPU thousandths that all jobs in the line need together."""

    @classmethod
    def of(cls, record: FairServiceRecord) -> "FairService":
        """The line that was recorded."""
        made = cls(record.capacity_milli)
        made._line = [(submitted_ms, job) for submitted_ms, job, _ in record.line]
        made._milli = {job: gpu_milli for _, job, gpu_milli in record.line}
        made._due = record.due
        made._due_milli = sum(gpu_milli for _, _, gpu_milli in record.line[: record.due])
        made.wanted_milli = sum(made._milli.values())
        return made

    def record(self) -> FairServiceRecord:
        """The line as values."""
        line = tuple((submitted_ms, job, self._milli[job]) for submitted_ms, job in self._line)
        return FairServiceRecord(capacity_milli=self.capacity_milli, line=line, due=self._due)

    def join(self, job: JobId, submitted_ms: int, gpu_milli: int) -> None:
        """A job was submitted."""
        place = (submitted_ms, job)
        if bisect_left(self._line, place) < self._due:
            self._due += 1
            self._due_milli += gpu_milli
        insort(self._line, place)
        self._milli[job] = gpu_milli
        self.wanted_milli += gpu_milli

    def leave(self, job: JobId, submitted_ms: int) -> None:
        """A job ended. No effect when it is not in the line."""
        gpu_milli = self._milli.pop(job, None)
        if gpu_milli is None:
            return
        self.wanted_milli -= gpu_milli
        at = bisect_left(self._line, (submitted_ms, job))
        del self._line[at]
        if at < self._due:
            self._due -= 1
            self._due_milli -= gpu_milli

    def advance(self) -> list[JobId]:
        """The jobs that have become due since the last call, in order. A job that is due stays due."""
        found: list[JobId] = []
        while self._due < len(self._line):
            job = self._line[self._due][1]
            if self._due_milli + self._milli[job] > self.capacity_milli:
                break
            self._due += 1
            self._due_milli += self._milli[job]
            found.append(job)
        return found
