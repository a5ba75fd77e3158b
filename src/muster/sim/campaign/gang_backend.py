"""Gangs train as a whole, in the world that replays run in; their supervisors do not die."""

from collections.abc import Iterable

from muster.estimates.training import Training
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, StartWorkers
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from muster.sim.campaign.backends import Absence, LiveProcess
from muster.sim.campaign.workload import Submission
from muster.sim.world import World


class Gangs(World):
    """Gangs train as a whole, with progress, saves and accounts."""

    says_what_runs = False

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
            super().send(evolve(command, workers=there))
            self._break(training, there)

    def seats(self) -> tuple[LiveProcess, ...]:
        """Every process of every job."""
        return tuple(
            LiveProcess(training.job, training.attempt, worker)
            for training in self._active.values()
            for worker in training.workers
        )

    def generation(self, job: JobId) -> int:
        """The newest generation seen for a job."""
        return self.trainings[job].generation

    def has_done(self, job: JobId, _attempt: int, _ranks: tuple[int, ...], /) -> bool:
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

    def lose_supervisor_for(self, name: NodeName, absence: Absence) -> None:
        """Whole gangs are not seen process by process: their supervisors do not die."""

    def replace_supervisor(self, name: NodeName) -> None:
        """Every node has one."""

    def is_attended(self, name: NodeName) -> bool:  # noqa: ARG002
        """Every node has a supervisor."""
        return True

    def fall_silent(self, known_after_ms: int = 0) -> None:
        """Gangs have no limits of their own."""

    def hear_again(self) -> None:
        """Nobody was alone."""

    def greet(self, nodes: Iterable[NodeName]) -> None:
        """Gangs are not seen node by node."""

    def change_home(self) -> None:
        """Gangs stay where they are."""

    def end_everything(self) -> None:
        """Every gang is killed."""
        for training in tuple(self._active.values()):
            self._kill(training, tuple(worker.rank for worker in training.workers))

    def excuse(self, until_ms: int) -> None:
        """Gangs are not held to limits here."""

    def allow(self, late_ms: int) -> None:
        """Gangs are not held to limits here."""

    def forgive(self) -> None:
        """Gangs have no limits of their own."""

    def overdue(self) -> tuple[str, ...]:
        """Gangs have no limits of their own."""
        return ()

    def has_failed_by_itself(self, job: JobId, attempt: int) -> bool:  # noqa: ARG002
        """Not known of whole gangs."""
        return True

    def has_finished_by_itself(self, job: JobId, attempt: int, ranks: tuple[int, ...]) -> bool:  # noqa: ARG002
        """Not known of whole gangs."""
        return False


def _occupied_milli_ms(training: Training, now_ms: int) -> int:
    past = sum((end_ms - start_ms) * milli for start_ms, end_ms, milli, _ in training.stints)
    return past + (training.milli * (now_ms - training.stint_ms) if training.seats else 0)
