"""A tested backend where every process follows a script of its own, under supervisors that die."""

from collections.abc import Iterator
from functools import partial

from muster.backends.fake.process import Process
from muster.backends.fake.supervised import SupervisedBackend
from muster.model.events import NodeChanged
from muster.model.ids import JobId, NodeName
from muster.model.limits import KILL_REPEAT_MS
from muster.model.node import Node, NodeState
from muster.model.node_limits import ABSENCE_MARGIN_MS, CONTROL_SILENCE_MS
from muster.sim.campaign.backends import Absence, LiveProcess
from muster.sim.campaign.workload import Submission

LATE_MS = CONTROL_SILENCE_MS + 2 * ABSENCE_MARGIN_MS + KILL_REPEAT_MS
"""How long after its limit or its grace period a process may be alive while its node can be reached."""


class Processes(SupervisedBackend):
    """Every process follows a script of its own."""

    says_what_runs = True

    def __init__(self) -> None:
        super().__init__()
        self._failed: dict[tuple[JobId, int], None] = {}
        """Attempts of which a process failed by itself."""
        self._forgotten: dict[JobId, int] = {}
        """The newest attempt of each job when the log was replaced by an older one."""
        self._codes: dict[tuple[JobId, int, int], int] = {}
        """The real exit codes of processes, whatever is reported."""
        self._finished: dict[tuple[JobId, int, int], Process] = {}
        """Processes that ended with success and were not told to leave, whatever is reported."""
        self._overdue: list[str] = []
        self._excused_ms = 0
        self._late_ms = 0

    def prepare(self, job: JobId, submission: Submission) -> None:
        """Register the scripts of a job's attempts."""
        self.script(job, *submission.scripts)

    def seats(self) -> tuple[LiveProcess, ...]:
        """Every process of every job."""
        return tuple(LiveProcess(each.job, each.attempt, each.worker) for each in self._processes() if each.is_alive)

    def generation(self, job: JobId) -> int:
        """The newest generation seen for a job."""
        return self._gangs[job].generation if job in self._gangs else 0

    def has_done(self, job: JobId, attempt: int, ranks: tuple[int, ...], /) -> bool:
        """True when these processes of an attempt all ended with success."""
        return all(self._codes.get((job, attempt, rank)) == 0 for rank in ranks)

    def overcounted(self) -> tuple[str, ...]:
        """Scripts keep no accounts."""
        return ()

    def lose(self, name: NodeName) -> None:
        """A node is lost with all its processes."""
        self.lose_node(name)

    def change(self, node: Node, because: str) -> None:
        """Report the node, and let processes crash that use a bad GPU."""
        if node.state is not NodeState.DOWN:
            self.return_node(node)
        else:
            self._report(NodeChanged(at_ms=self.now_ms, node=node, because=because))
        for gang in self._gangs.values():
            for process in gang.processes.values():
                on_bad_gpu = any(gpu in node.bad_gpus for gpu in process.worker.gpus)
                if process.is_running and process.worker.node == node.name and on_bad_gpu:
                    self._exit(process, code=1)

    def slow(self, name: NodeName, speed: int) -> None:
        """Nothing: scripts follow the clock, whatever the speed of the node."""

    def lose_supervisor_for(self, name: NodeName, absence: Absence) -> None:
        """The supervisor of a node dies. What it ran goes on until a successor or a sweep ends it."""
        if not self.is_attended(name) or name in self._lost_nodes:
            return
        number = self.lose_supervisor(name, noticed_after_ms=absence.noticed_after_ms)
        if absence.is_swept:
            self._plan(absence.ends_after_ms, partial(self._end_absence, name, number, is_swept=True))
            self._plan(2 * absence.ends_after_ms, partial(self._end_absence, name, number))
        else:
            self._plan(absence.ends_after_ms, partial(self._end_absence, name, number))

    def _end_absence(self, name: NodeName, number: int, *, is_swept: bool = False) -> None:
        if self.supervision.is_absence(name, number):
            if is_swept:
                self.sweep_node(name)
            else:
                self.replace_supervisor(name)

    def end_everything(self) -> None:
        """End every process of every job. Their exit codes look like failures, so they count as failed."""
        self._failed.update({(each.job, each.attempt): None for each in self._processes() if each.is_alive})
        super().end_everything()

    def excuse(self, until_ms: int) -> None:
        """Until then, nothing can enforce limits."""
        self._excused_ms = until_ms

    def allow(self, late_ms: int) -> None:
        """From now on, limits may be enforced this much later."""
        self._late_ms = late_ms

    def forgive(self) -> None:
        """What runs now is not held to its limits: the log that knew them is gone.

        The older log does not know either why a process was told to leave, or what happened to its supervisor.
        """
        self._forgotten = {job: gang.attempt for job, gang in self._gangs.items()}
        for process in self._processes():
            process.must_end_ms = None

    def overdue(self) -> tuple[str, ...]:
        """Processes that were alive long after their limit, although their nodes could be reached."""
        alive = (each for each in self._processes() if each.is_alive)
        return (*self._overdue, *(problem for each in alive for problem in self._lateness(each)))

    def has_failed_by_itself(self, job: JobId, attempt: int) -> bool:
        """True when a process of this attempt failed and was not told to leave, or when that was forgotten."""
        return (job, attempt) in self._failed or attempt <= self._forgotten.get(job, 0)

    def has_finished_by_itself(self, job: JobId, attempt: int, ranks: tuple[int, ...]) -> bool:
        """True when these processes ended with success, were not told to leave, and their nodes can report it."""
        finished = [self._finished.get((job, attempt, rank)) for rank in ranks]
        return bool(finished) and all(each is not None and not each.is_lost for each in finished)

    def _lateness(self, process: Process) -> Iterator[str]:
        if process.must_end_ms is None or not self._reaches(process.worker.node):
            return
        late_ms = self.now_ms - max(process.must_end_ms, self._excused_ms)
        if late_ms > LATE_MS + self._late_ms:
            yield f"{process.job}: rank {process.worker.rank} is alive {late_ms} ms after its time"

    def _limit(self, process: Process, max_duration_ms: int | None) -> None:
        super()._limit(process, max_duration_ms)
        if process.is_alive and not process.is_told:
            process.must_end_ms = None if max_duration_ms is None else self.now_ms + max_duration_ms

    def _tell(self, process: Process, *, grace_ms: int) -> None:
        if not process.is_told:
            by_ms = self.now_ms + grace_ms
            process.must_end_ms = by_ms if process.must_end_ms is None else min(process.must_end_ms, by_ms)
        super()._tell(process, grace_ms=grace_ms)

    def _exit(self, process: Process, *, code: int, oom: bool = False) -> None:
        if process.is_alive:
            self._overdue += self._lateness(process)
            self._codes[process.job, process.attempt, process.worker.rank] = code
            if code and not process.is_told:
                self._failed[process.job, process.attempt] = None
            elif not process.is_told:
                self._finished[process.job, process.attempt, process.worker.rank] = process
        super()._exit(process, code=code, oom=oom)
