"""A tested backend where gangs train as a whole, as in replays. Supervisors do not die here."""

from collections.abc import Iterable

from muster.backends.fake.checkpoint_files import CheckpointFiles
from muster.estimates.training import Habits, Training
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

    def __init__(self, nodes: Iterable[Node], habits: Habits) -> None:
        super().__init__(nodes, habits)
        self.files = CheckpointFiles()
        """Nothing: whole gangs do not save by steps."""
        self.misled: list[str] = []

    def prepare(self, job: JobId, submission: Submission) -> None:
        """Register the work of a job that will be started."""
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
        """Carry the command out. No worker starts on a node that is gone."""
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
        """True when the job has no work left."""
        return self.trainings[job].left == 0

    def overcounted(self) -> tuple[str, ...]:
        """Jobs whose useful, lost and saving time together exceed their time on GPUs."""
        return tuple(
            training.job
            for training in self.trainings.values()
            if training.useful + training.lost + training.saving
            > _occupied_milli_ms(training, max(self.now_ms, training.opened_ms))
        )

    def lose(self, name: NodeName) -> None:
        """A node is lost with all its processes."""
        self.lose_node(name)

    def change(self, node: Node, because: str) -> None:
        """Report the node, and let gangs crash that use a GPU that has become bad."""
        self.change_node(node, because=because)

    def slow(self, name: NodeName, speed: int) -> None:
        """A gang runs at the pace of its slowest node."""
        self.slow_node(name, speed)

    def lose_supervisor_for(self, name: NodeName, absence: Absence) -> None:
        """Nothing: whole gangs are not seen process by process, so their supervisors do not die."""

    def replace_supervisor(self, name: NodeName) -> None:
        """Nothing: every node has a supervisor."""

    def is_attended(self, name: NodeName) -> bool:  # noqa: ARG002
        """Every node has a supervisor."""
        return True

    def fall_silent(self, known_after_ms: int = 0) -> None:
        """Nothing: supervisors enforce no limits here."""

    def hear_again(self) -> None:
        """Nothing: supervisors enforce no limits here."""

    def greet(self, nodes: Iterable[NodeName]) -> None:
        """Nothing: gangs are not seen node by node."""

    def change_home(self) -> None:
        """Nothing: gangs stay where they are."""

    def end_everything(self) -> None:
        """Kill every gang."""
        for training in tuple(self._active.values()):
            self._kill(training, tuple(worker.rank for worker in training.workers))

    def refuse_uploads(self, for_ms: int) -> None:
        """Nothing: whole gangs do not save by steps."""

    def excuse(self, until_ms: int) -> None:
        """Nothing: gangs are not held to limits here."""

    def allow(self, late_ms: int) -> None:
        """Nothing: gangs are not held to limits here."""

    def forgive(self) -> None:
        """Nothing: gangs are not held to limits here."""

    def overdue(self) -> tuple[str, ...]:
        """None: gangs are not held to limits here."""
        return ()

    def has_failed_by_itself(self, job: JobId, attempt: int) -> bool:  # noqa: ARG002
        """Always true, because it is not known of whole gangs."""
        return True

    def has_finished_by_itself(self, job: JobId, attempt: int, ranks: tuple[int, ...]) -> bool:  # noqa: ARG002
        """Always false, because it is not known of whole gangs."""
        return False


def _occupied_milli_ms(training: Training, now_ms: int) -> int:
    past = sum((end_ms - start_ms) * milli for start_ms, end_ms, milli, _ in training.stints)
    return past + (training.milli * (now_ms - training.stint_ms) if training.seats else 0)
