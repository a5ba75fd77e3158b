"""Where commands are carried out: the two simulated backends, with what a campaign needs besides.

`Processes` lives process by process after a script; `Gangs` is the world that replays run in. Both know the truth:
which process sits where, and whether a job has really done its work.
"""

from typing import NamedTuple, Protocol

from muster.backends.base import Backend
from muster.backends.fake import FakeBackend
from muster.model.events import NodeChanged, WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, StartWorkers
from muster.model.job import Worker
from muster.model.node import Node, NodeState
from muster.model.records import changed
from muster.sim.campaign.workload import Submission
from muster.sim.training import Training
from muster.sim.world import World


class Seat(NamedTuple):
    """A process that is there, or is about to be."""

    job: JobId
    attempt: int
    worker: Worker


class Ground(Backend, Protocol):
    """A simulated backend that knows the truth."""

    now_ms: int

    @property
    def next_ms(self) -> int | None:
        """When something happens next by itself."""
        ...

    def advance(self, to_ms: int) -> None:
        """Move the clock and let happen what happens until then."""
        ...

    def prepare(self, job: JobId, submission: Submission) -> None:
        """A job will be started that behaves like this."""
        ...

    def seats(self) -> tuple[Seat, ...]:
        """Every process of every job."""
        ...

    def generation(self, job: JobId) -> int:
        """The newest generation seen for a job."""
        ...

    def has_done(self, job: JobId, ranks: tuple[int, ...], /) -> bool:
        """True when these processes of the last attempt all ended well."""
        ...

    def overcounted(self) -> tuple[str, ...]:
        """Jobs whose accounts say that they trained longer than they occupied GPUs."""
        ...

    def lose(self, name: NodeName) -> None:
        """A node goes with all its processes."""
        ...

    def change(self, node: Node, because: str) -> None:
        """A node is back, is about to go, or has other bad GPUs; who uses one that has become bad crashes."""
        ...

    def slow(self, name: NodeName, speed: int) -> None:
        """A node becomes slower or recovers."""
        ...


class Processes(FakeBackend):
    """Every process lives by a script of its own."""

    def prepare(self, job: JobId, submission: Submission) -> None:
        """Its attempts go by its scripts."""
        self.script(job, *submission.scripts)

    def seats(self) -> tuple[Seat, ...]:
        """Every process of every job."""
        return tuple(Seat(job, self._gangs[job].attempt, worker) for job, worker in self.seated())

    def generation(self, job: JobId) -> int:
        """The newest generation seen for a job."""
        return self._gangs[job].generation if job in self._gangs else 0

    def has_done(self, job: JobId, ranks: tuple[int, ...], /) -> bool:
        """True when these processes of the last attempt all ended well."""
        ends = [self._gangs[job].processes[rank].end for rank in ranks]
        return all(isinstance(end, WorkersExited) and end.exit_code == 0 for end in ends)

    def overcounted(self) -> tuple[str, ...]:
        """Scripts keep no accounts."""
        return ()

    def lose(self, name: NodeName) -> None:
        """A node goes with all its processes."""
        self.lose_node(name)

    def change(self, node: Node, because: str) -> None:
        """Report the node, and let crash who uses a bad GPU."""
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
        """Scripts go by the clock, whatever the node."""


class Gangs(World):
    """Gangs train as a whole, with progress, saves and accounts."""

    def prepare(self, job: JobId, submission: Submission) -> None:
        """It has its work to do."""
        spec = submission.spec
        training = Training(
            job,
            submission.work_ms,
            size=sum(role.workers_max for role in spec.roles),
            can_resume=spec.can_resume,
            crash_at=submission.crash_at,
        )
        self.expect(training)

    def send(self, command: Command) -> None:
        """Carry the command out; nothing comes up on a node that is gone."""
        if not isinstance(command, StartWorkers):
            super().send(command)
            return
        training = self.trainings[command.job]
        there = tuple(each for each in command.workers if self.nodes[each.node].state is not NodeState.DOWN)
        if len(there) == len(command.workers) or command.generation < training.generation:
            super().send(command)
        elif there and command.attempt > training.attempt:
            super().send(changed(command, workers=there))
            self._break(training, there)

    def seats(self) -> tuple[Seat, ...]:
        """Every process of every job."""
        return tuple(
            Seat(training.job, training.attempt, worker)
            for training in self._active.values()
            for worker in training.workers
        )

    def generation(self, job: JobId) -> int:
        """The newest generation seen for a job."""
        return self.trainings[job].generation

    def has_done(self, job: JobId, _ranks: tuple[int, ...], /) -> bool:
        """True when nothing of its work is left."""
        return self.trainings[job].left == 0

    def overcounted(self) -> tuple[str, ...]:
        """Useful, lost and saving time cannot be more than the time on GPUs."""
        return tuple(
            training.job
            for training in self.trainings.values()
            if training.useful + training.lost + training.saving
            > _occupied_milli_ms(training, max(self.now_ms, training.opened_ms))
        )

    def lose(self, name: NodeName) -> None:
        """A node goes with all its processes."""
        self.lose_node(name)

    def change(self, node: Node, because: str) -> None:
        """Report the node, and let crash who uses a GPU that has become bad."""
        self.change_node(node, because=because)

    def slow(self, name: NodeName, speed: int) -> None:
        """Gangs go at the pace of their slowest node."""
        self.slow_node(name, speed)


def _occupied_milli_ms(training: Training, now_ms: int) -> int:
    past = sum((end_ms - start_ms) * milli for start_ms, end_ms, milli, _ in training.stints)
    return past + (training.milli * (now_ms - training.stint_ms) if training.seats else 0)
