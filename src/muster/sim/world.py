"""The simulated world: a backend whose jobs train on a virtual clock.

It keeps the contract of `backends.base`, with one report for a whole gang. Nodes can be lost, slowed down and given
back, and single GPUs can break. The caller that moves the clock decides when.

Regular saves do not move the clock: a save alone is no reason to plan. They are reported, with their own time, when the
clock next moves for another reason.
"""

from collections.abc import Callable, Iterable
from typing import assert_never

from muster.estimates.training import PARTS, Habits, Training
from muster.model.compiling import mypyc_attr
from muster.model.events import (
    CheckpointSaved,
    NodeChanged,
    NodeLost,
    ObservedEvent,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import AskCheckpoint, Command, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Placement
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from muster.sim.agenda import Agenda, SaveClock

CRASHED = 1
KILLED = 137
"""The exit code of a killed process."""


@mypyc_attr(allow_interpreted_subclasses=True)
class World:
    """Runs the jobs of a trace on virtual time."""

    def __init__(self, nodes: Iterable[Node], habits: Habits | None = None, *, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self.nodes: dict[NodeName, Node] = {node.name: node for node in nodes}
        self.node_history: list[tuple[int, Node]] = []
        """Every change of a node, in the order of time."""
        self.habits = habits or Habits()
        self.trainings: dict[JobId, Training] = {}
        self._active: dict[JobId, Training] = {}
        """Trainings that occupy GPUs."""
        self._slow: dict[NodeName, int] = {}
        """The speed of nodes that straggle, in millionths of the nominal speed."""
        self.struck: list[JobId] = []
        """Jobs that lost workers with a node: no report of their own says what happens to them. The reader clears the
        list."""
        self._reports: list[ObservedEvent] = []
        self._agenda = Agenda()
        self._saves = SaveClock(self.habits)

    def expect(self, training: Training) -> None:
        """Register a job that will be started, with the work it has to do."""
        self.trainings[training.job] = training

    @property
    def next_ms(self) -> int | None:
        """When the next event happens by itself, regular saves aside; None if there is none."""
        return self._agenda.next_ms

    def advance(self, to_ms: int) -> None:
        """Move the clock, and let everything happen that is due by then."""
        for at_ms, training in self._saves.due(to_ms):
            self._report_save(training, at_ms)
        while (due := self._agenda.pop(to_ms)) is not None:
            self.now_ms, training, happen = due
            happen(training)
        self.now_ms = to_ms

    def poll(self) -> tuple[ObservedEvent, ...]:
        """Everything observed since the last call, in the order in which it happened."""
        if not self._reports:
            return ()
        reports, self._reports = tuple(self._reports), []
        return reports

    def send(self, command: Command) -> None:
        """Carry the command out on virtual time, unless its generation is older than the newest one seen."""
        training = self.trainings[command.job]
        if command.generation < training.generation:
            return
        training.generation = command.generation
        match command:
            case StartWorkers():
                self._start(training, command)
            case SignalStop():
                self._to_living(training, command, self._tell)
            case KillWorkers():
                self._to_living(training, command, self._kill)
            case AskCheckpoint():
                self._ask(training, command.attempt)
            case _:
                assert_never(command)

    def lose_node(self, name: NodeName, *, because: str = "lost") -> None:
        """Take a node away with all its processes."""
        self._note(evolve(self.nodes[name], state=NodeState.DOWN))
        self._slow.pop(name, None)
        self._reports.append(NodeLost(at_ms=self.now_ms, node=name, because=because))
        for training in self._on(name):
            self.struck.append(training.job)
            self._break(training, tuple(worker for worker in training.workers if worker.node != name))

    def change_node(self, node: Node, *, because: str) -> None:
        """A node is back, is about to go, or has other bad GPUs. Gangs on a GPU that has become bad crash."""
        broken = tuple(gpu for gpu in node.bad_gpus if gpu not in self.nodes[node.name].bad_gpus)
        self._note(node)
        self._reports.append(NodeChanged(at_ms=self.now_ms, node=node, because=because))
        for training in self._on(node.name) if broken else ():
            seats = (worker for worker in training.workers if worker.node == node.name)
            if any(gpu in broken for worker in seats for gpu in worker.gpus):
                self._crash(training)

    def slow_node(self, name: NodeName, speed: int) -> None:
        """Slow a node down to this speed, in millionths. A gang runs at the pace of its slowest worker."""
        if speed == PARTS:
            self._slow.pop(name, None)
        else:
            self._slow[name] = speed
        for training in self._on(name):
            if training.is_up and training.is_whole and not training.is_told:
                training.settle(self.now_ms, self.habits)
                self._go_on(training)

    def warn(self, name: NodeName) -> None:
        """Ask the jobs on a node to save now: the node goes as soon as they can have saved."""
        for training in self._on(name):
            self._ask(training, training.attempt)

    def _note(self, node: Node) -> None:
        self.nodes[node.name] = node
        self.node_history.append((self.now_ms, node))

    def _on(self, name: NodeName) -> tuple[Training, ...]:
        return tuple(
            training for training in self._active.values() if any(worker.node == name for worker in training.workers)
        )

    def _start(self, training: Training, command: StartWorkers) -> None:
        if command.attempt == training.attempt:
            self._join(training, command)
            return
        if training.seats:
            training.settle(self.now_ms, self.habits)
            training.lose()
        training.attempt = command.attempt
        training.is_up = training.is_told = False
        training.is_whole = True
        training.exit_report = None
        training.partings, training.seen = (), command.workers
        now_ms, habits = self.now_ms, self.habits
        training.sit(command.workers, now_ms)
        training.opened_ms = now_ms
        overhead_ms = habits.start_ms + (habits.restart_cost_ms if command.attempt > 1 else 0)
        training.since_ms = now_ms + overhead_ms
        self._active[training.job] = training
        if habits.start_ms:
            self._agenda.plan(training, now_ms + habits.start_ms, self._come_up)
        else:
            self._come_up(training)

    def _come_up(self, training: Training) -> None:
        training.is_up = True
        self._report_up(training, training.workers)
        self._go_on(training)

    def _join(self, training: Training, command: StartWorkers) -> None:
        """The gang grows by these workers. Workers that are there already are only reported again."""
        if training.exit_report is not None:
            self._reports.append(training.exit_report)
            return
        seated = frozenset(worker.rank for worker in training.workers)
        newcomers = tuple(worker for worker in command.workers if worker.rank not in seated)
        if training.is_up:
            self._report_up(training, command.workers)
        if newcomers:
            training.seen += newcomers
            self._resize(training, (*training.workers, *newcomers))

    def _resize(self, training: Training, workers: Placement) -> None:
        """Go on with these workers."""
        training.settle(self.now_ms, self.habits)
        # A save is counted in full when it begins. The rest of it now costs the new gang instead of the old one.
        saving_ms = max(training.opened_ms - self.now_ms, 0)
        training.saving -= training.milli * saving_ms
        training.sit(workers, self.now_ms)
        training.saving += training.milli * saving_ms
        if training.is_up and training.is_whole and not training.is_told:
            self._go_on(training)

    def _go_on(self, training: Training) -> None:
        """Train from the settled state until the work is done or the job crashes."""
        pace = training.pace = self._pace(training)
        habits = self.habits
        crashes = 0 <= training.crash_left < training.left
        run_ms = training.time_to(training.crash_left, habits) if crashes else training.time_to(0, habits)
        since_ms = training.since_ms
        training.end_ms = since_ms + run_ms
        self._agenda.plan(training, training.end_ms, self._crash_once if crashes else self._finish)
        every_ms = habits.save_every_ms
        if habits.reports_saves and training.can_resume and 0 < every_ms * pace < training.left:
            self._saves.plan(training, since_ms + every_ms + habits.save_cost_ms)

    def _pace(self, training: Training) -> int:
        """Speed of the GPU type, times workers over the nominal number, times the slowest node's speed (noted)."""
        workers = training.workers
        pace = PARTS
        if training.speeds:
            kinds = dict.fromkeys(self.nodes[worker.node].gpu_type for worker in workers)
            pace = min((speed for kind, speed in training.speeds if kind in kinds), default=PARTS)
        if len(workers) != training.size:
            pace = pace * len(workers) // training.size
        training.speed = PARTS
        if self._slow:
            training.speed = min(self._slow.get(worker.node, PARTS) for worker in workers)
            pace = pace * training.speed // PARTS
        return max(pace, 1)

    def _finish(self, training: Training) -> None:
        training.settle(self.now_ms, self.habits)
        training.left = 0
        training.keep()
        self._exit(training, 0)

    def _crash_once(self, training: Training) -> None:
        training.crash_left = -1
        self._crash(training)

    def _crash(self, training: Training) -> None:
        training.settle(self.now_ms, self.habits)
        training.lose()
        training.faults += 1
        self._exit(training, CRASHED)

    def _break(self, training: Training, survivors: Placement) -> None:
        """Workers vanished with their node. The gang stands still, and is over when no worker is left."""
        training.settle(self.now_ms, self.habits)
        training.lose()
        training.faults += training.is_whole
        training.is_whole = False
        training.pace = 0
        training.workers = survivors
        training.stamp += 1
        if not survivors:
            self._leave_seats(training)

    def _to_living(
        self,
        training: Training,
        command: SignalStop | KillWorkers,
        act: Callable[[Training, tuple[int, ...]], None],
    ) -> None:
        """Act on living workers, report ended ones again, and report those never seen as never started."""
        if command.attempt != training.attempt:
            self._report_unknown(command, command.ranks)
            return
        living = tuple(worker.rank for worker in training.workers if worker.rank in command.ranks)
        gone = tuple(rank for rank in command.ranks if rank not in living)
        if gone:
            ends = training.partings if training.exit_report is None else (*training.partings, training.exit_report)
            self._reports += [end for end in ends if any(rank in gone for rank in end.ranks)]
            seen = frozenset(worker.rank for worker in training.seen)
            self._report_unknown(command, tuple(rank for rank in gone if rank not in seen))
        if living:
            act(training, living)

    def _report_unknown(self, command: SignalStop | KillWorkers, ranks: tuple[int, ...]) -> None:
        if ranks:
            report = StartFailed(
                at_ms=self.now_ms,
                job=command.job,
                attempt=command.attempt,
                generation=command.generation,
                ranks=ranks,
                message="never started",
            )
            self._reports.append(report)

    def _tell(self, training: Training, ranks: tuple[int, ...]) -> None:
        """A whole gang saves and leaves. A part of a gang leaves at once, and the rest goes on."""
        if len(ranks) < len(training.workers):
            self._part(training, ranks, 0)
        elif not training.is_told:
            training.is_told = True
            training.settle(self.now_ms, self.habits)
            training.pace = 0
            leave_ms = self._leave_ms(training)
            if leave_ms:
                self._agenda.plan(training, self.now_ms + leave_ms, self._leave)
            else:
                self._leave(training)

    def _leave_ms(self, training: Training) -> int:
        """How long it takes to leave: a save, if there is something to save, and `leave_ms`."""
        if not training.is_whole:
            return 0
        saves = training.is_up and training.can_resume and training.unsaved
        return self.habits.leave_ms + (self.habits.save_cost_ms if saves else 0)

    def _leave(self, training: Training) -> None:
        if training.is_whole:
            training.saving += training.milli * (self.now_ms - training.opened_ms)
            training.opened_ms = training.since_ms = self.now_ms
        else:
            training.settle(self.now_ms, self.habits)
        if training.is_whole and training.is_up and training.can_resume:
            training.keep()
            self._report_save(training, self.now_ms)
        else:
            training.lose()
        self._exit(training, 0 if training.is_whole else CRASHED)

    def _kill(self, training: Training, ranks: tuple[int, ...]) -> None:
        if len(ranks) < len(training.workers):
            self._part(training, ranks, KILLED)
            return
        training.is_told = True
        training.settle(self.now_ms, self.habits)
        training.lose()
        self._exit(training, KILLED)

    def _part(self, training: Training, ranks: tuple[int, ...], code: int) -> None:
        """Some workers leave the gang."""
        self._resize(training, tuple(worker for worker in training.workers if worker.rank not in ranks))
        training.partings += (self._report_exit(training, ranks, code, told=True),)

    def _ask(self, training: Training, attempt: int) -> None:
        """Let a job save now and go on."""
        is_training = training.is_up and training.is_whole and not training.is_told and training.exit_report is None
        if not is_training or attempt != training.attempt or not training.can_resume:
            return
        cost_ms = self.habits.save_cost_ms
        training.settle(self.now_ms, self.habits)
        training.keep()
        training.saving += training.milli * cost_ms
        training.since_ms = max(training.since_ms, self.now_ms) + cost_ms
        training.opened_ms = max(training.opened_ms, training.since_ms if cost_ms else self.now_ms)
        self._report_save(training, self.now_ms)
        self._go_on(training)

    def _exit(self, training: Training, code: int) -> None:
        ranks = tuple([worker.rank for worker in training.workers])
        training.exit_report = self._report_exit(training, ranks, code, told=training.is_told)
        training.stamp += 1
        self._leave_seats(training)

    def _leave_seats(self, training: Training) -> None:
        if training.opened_ms > self.now_ms:
            # It was in the middle of a save, which was counted in full when it began.
            training.saving -= training.milli * (training.opened_ms - self.now_ms)
            training.opened_ms = self.now_ms
        training.sit((), self.now_ms)
        self._active.pop(training.job, None)

    def _report_exit(self, training: Training, ranks: tuple[int, ...], code: int, *, told: bool) -> WorkersExited:
        report = WorkersExited(
            at_ms=self.now_ms,
            job=training.job,
            attempt=training.attempt,
            generation=training.generation,
            ranks=ranks,
            exit_code=code,
            told=told,
        )
        self._reports.append(report)
        return report

    def _report_up(self, training: Training, workers: Placement) -> None:
        report = WorkersStarted(
            at_ms=self.now_ms,
            job=training.job,
            attempt=training.attempt,
            generation=training.generation,
            ranks=tuple([worker.rank for worker in workers]),
        )
        self._reports.append(report)

    def _report_save(self, training: Training, at_ms: int) -> None:
        cost_ms = self.habits.save_cost_ms
        report = CheckpointSaved(at_ms=at_ms, job=training.job, attempt=training.attempt, cost_ms=cost_ms)
        self._reports.append(report)
