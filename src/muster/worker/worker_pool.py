"""The workers of one node: fulfils the contract of a backend for them.

Every command is added to the journal before it is carried out, and its outcome is added as a report. Nothing here
knows who receives the reports.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import assert_never

from muster.model.ids import JobId
from muster.model.instructions import AskCheckpoint, Command, KillWorkers, SignalStop, StartWorkers, ranks_named
from muster.model.job import Worker
from muster.model.reports import CheckpointSaved
from muster.model.telemetry import Telemetry
from muster.processes import entry
from muster.worker.containers.node_containers import NodeContainers
from muster.worker.held_starts import HeldStarts
from muster.worker.image_waits import ImageWaits
from muster.worker.launch.devices import conflict
from muster.worker.launch.launch_spec import CannotStart, Meeting, Mistaken, NodeContext, equip
from muster.worker.loop import Loop
from muster.worker.messages import WorkerReport, encoded, plain, worker_from
from muster.worker.notices import Saved, TrainingNotice
from muster.worker.output.budget import OutputBudget
from muster.worker.processes.companions import Companions
from muster.worker.processes.process_table import ended_children
from muster.worker.processes.strangers import end_strangers
from muster.worker.processes.strays import badge
from muster.worker.records.journal import Journal
from muster.worker.records.register import RegisteredGang, Seat
from muster.worker.training.node_training import NodeTraining
from muster.worker.training.stack_dumps import StackRequest
from muster.worker.training.training_worker import NodeReports
from muster.worker.worker_beginning import begin_worker
from muster.worker.worker_process import WorkerContext, WorkerProcess
from muster.worker.worker_reports import CANNOT_RUN, KILLED, STOPPED, exited, failed, now_ms, problem_noted, started


class WorkerPool:
    """Starts, stops and watches workers."""

    def __init__(
        self,
        context: NodeContext,
        journal: Journal,
        loop: Loop,
        *,
        is_away: Callable[[], bool],
        left: Callable[[], Iterable[Seat]] = tuple,
        measure: Callable[[Telemetry], None] = lambda _: None,
        companions: Companions | None = None,
        containers: NodeContainers | None = None,
    ) -> None:
        """`left` returns the workers that a predecessor left and that may be alive. `measure` takes their progress."""
        self._companions = companions or Companions()
        self._containers = containers or NodeContainers(context, loop, self._companions)
        self._context = context
        self._journal = journal
        self._register = journal.register
        self._output = OutputBudget(context.home)
        self._images = ImageWaits(self._containers, self._output, self.report)
        self._processes: dict[str, WorkerProcess] = {}
        self._seats: dict[str, Seat] = {}
        """By token: the seat that each process belongs to."""
        self._by_pid: dict[int, WorkerProcess] = {}
        self._noted: list[WorkerProcess] = []
        """Workers that are gone. A successor needs their exit records until their ends are on disk."""
        self._held = HeldStarts()
        self._claimed: dict[JobId, None] = {}
        """Jobs that the present control plane has sent a command for. No control plane looks after the others."""
        self._left = left
        reports = NodeReports(report=self.report, measure=measure, clock=now_ms)
        self.training = NodeTraining(context, loop, reports, self._companions)
        self._may_have_strangers = False
        """Set when a worker has ended, until no process of an unknown worker is found."""
        self._around = WorkerContext(
            loop=loop,
            mains=lambda: frozenset((*self._by_pid, *self.training.uploads.pids)),
            is_away=lambda process: is_away() or self._seats[process.token].job not in self._claimed,
            saved=self._saved,
            noticed=self._noticed,
            end_container=lambda process, done: self._containers.end(process.launch_spec.container, done),
            overdue=self._overdue,
            gone=self._gone,
        )

    @property
    def is_empty(self) -> bool:
        """True when no worker has a process, and nothing is uploaded."""
        return not self._processes and self.training.uploads.is_empty

    def forget_claims(self) -> None:
        """Another control plane is connected: a job is its own only once it sends a command for it."""
        self._claimed.clear()

    def obey(self, command: Command, meeting: Meeting, *, by_agreement: bool = False) -> None:
        """Carry out a command, unless it is older than the newest one seen for its job.

        `by_agreement` says that the control plane announces a step to the ranks of the gang, at which they save or
        leave. Workers without boards do not see it, and are told as usual.
        """
        gang = self._register.gangs.get(command.job)
        if gang is not None and command.generation < gang.generation:
            return
        if gang is not None and command.attempt < gang.attempt:
            self._deny_older(command)
            return
        gang = self._fence(gang, command, meeting)
        self._claimed[command.job] = None
        match command:
            case StartWorkers():
                if gang.spec is None and command.workers:
                    self._journal.add("spec", command.job, plain(command.spec))
                for worker in command.workers:
                    self._start(gang, command, worker, meeting)
            case SignalStop():
                stop = partial(self._stop, command=command, by_agreement=by_agreement)
                self._to_each(gang, command, stop, unstarted=STOPPED)
            case KillWorkers():
                self._to_each(gang, command, WorkerProcess.kill, unstarted=KILLED)
            case AskCheckpoint():
                self._ask(gang, by_agreement=by_agreement)
            case _:
                assert_never(command)

    def reap(self) -> None:
        """Reap every child that has ended, also orphans that became children of this process."""
        for pid, status in ended_children():
            process = self._by_pid.pop(pid, None)
            if process is not None:
                process.first_process_ended(status)
            else:
                self._companions.reaped(pid, status)
        if self._may_have_strangers or not self._processes:
            oldest_ticks = min((seat.start_ticks for seat in self._seats.values()), default=None)
            self._may_have_strangers = end_strangers(self._is_known, oldest_ticks)

    def end_all(self) -> None:
        """Kill all workers, and drop every start that waits."""
        for token, seat in self._seats.items():
            if not seat.is_told and token not in self._register.doomed:
                self._journal.add("told", seat.job, seat.rank)
        self._held.drop_all()
        for process in tuple(self._processes.values()):
            process.kill()
        self.training.uploads.end_all()
        self._containers.close()

    def tidy_up(self) -> None:
        """Remove files and control groups of workers that are gone. Call it when the whole journal is on disk."""
        gone, self._noted = self._noted, []
        for process in gone:
            process.tidy_up()

    def left_is_gone(self, seat: Seat) -> None:
        """A worker that a predecessor left is gone: start what waited for it."""
        if seat.job in self._register.gangs:
            self._start_held(seat.job)

    def worker_of(self, job: JobId, rank: int) -> WorkerProcess | None:
        """A worker that has a process here."""
        gang = self._register.gangs.get(job)
        seat = None if gang is None else gang.seats.get(rank)
        return None if seat is None else self._processes.get(seat.token)

    def terminal_of(self, job: JobId) -> WorkerProcess | None:
        """The worker of a job that has a terminal, or reads what a user sends."""
        gang = self._register.gangs.get(job)
        here = [] if gang is None else self._of(gang)
        return next((process for process in here if process.terminal or process.input), None)

    def report(self, event: WorkerReport, *, synced: bool = False) -> None:
        """Add a report to the journal, which is sent from there."""
        self._journal.add("report", self._register.last_number + 1, encoded(event), synced=synced)

    def stack_requests(self, job: JobId) -> list[StackRequest]:
        """The processes of a job here that write their stacks when asked."""
        return [
            StackRequest(rank=rank, pid=pid, worker_folder=worker.launch_spec.folder)
            for token, worker in self.training.of(job)
            for rank, pid in worker.stack_pids.items()
            if self._processes[token].has(pid)
        ]

    def pass_on(self, job: JobId, number: int, *, script_only: bool) -> None:
        """Send a signal of a user to the processes of a job here."""
        for token, process in self._processes.items():
            if self._seats[token].job == job:
                process.pass_on(number, script_only=script_only)

    def hasten(self, job: JobId | None = None, attempt: int = 0) -> None:
        """Signal workers that were told to leave and have not agreed on a step: of one attempt, or of all jobs."""
        for token, process in self._processes.items():
            seat = self._seats[token]
            is_meant = job is None or (seat.job, seat.attempt) == (job, attempt)
            if is_meant and not self.training.announcements.has_agreed(seat.job, seat.attempt):
                process.hasten()

    def _ask(self, gang: RegisteredGang, *, by_agreement: bool) -> None:
        for process in self._of(gang):
            if not (by_agreement and self.training.has_boards(process.token)):
                process.ask()

    def _stop(self, process: WorkerProcess, *, command: SignalStop, by_agreement: bool) -> None:
        agrees = by_agreement and self.training.has_boards(process.token)
        process.stop(command.grace_ms, cause=command.cause, by_agreement=agrees)

    def _fence(self, gang: RegisteredGang | None, command: Command, meeting: Meeting) -> RegisteredGang:
        """Record what a command says about its job. A newer attempt dooms what is left of the older one."""
        is_newer = gang is not None and command.attempt > gang.attempt
        self._journal.add("fence", command.job, command.attempt, command.generation, meeting.port)
        if is_newer:
            self._held.drop(command.job)
            for seat in self._doomed(command.job):
                process = self._processes.get(seat.token)
                if process is not None:
                    process.kill()
                elif not self._is_left(seat.token):
                    self._journal.add("gone", seat.token)
        return self._register.gangs[command.job]

    def _deny_older(self, command: Command) -> None:
        """Report that an older attempt has no workers here. A control plane with an older database may ask for them.

        It does not mean the workers that the newer attempt runs under the same ranks.
        """
        doomed = frozenset(seat.rank for seat in self._doomed(command.job) if seat.attempt == command.attempt)
        if gone := tuple(rank for rank in ranks_named(command) if rank not in doomed):
            older = RegisteredGang(job=command.job, attempt=command.attempt, generation=command.generation)
            self.report(failed(older, gone, "a newer attempt was heard of"))

    def _doomed(self, job: JobId) -> list[Seat]:
        return [seat for seat in self._register.doomed.values() if seat.job == job]

    def _is_left(self, token: str) -> bool:
        """True for a worker that a predecessor left and that may be alive."""
        return any(seat.token == token for seat in self._left())

    def _of(self, gang: RegisteredGang) -> list[WorkerProcess]:
        tokens = (seat.token for seat in gang.seats.values())
        return [self._processes[token] for token in tokens if token in self._processes]

    def _start(self, gang: RegisteredGang, start: StartWorkers, worker: Worker, meeting: Meeting) -> None:
        """Start a worker, or report again what became of it."""
        seat = gang.seats.get(worker.rank)
        if seat is not None:
            self._repeat(gang, seat)
            if seat.token in self._processes:
                self._processes[seat.token].limit(start.max_duration_ms)
            elif self._held.has(start.job, worker.rank):
                self._held.hold(start, worker, meeting)
            return
        token = f"{badge(self._context.home, self._context.node)}{os.urandom(8).hex()}"
        self._journal.add("seat", start.job, worker.rank, token, [])
        self._journal.add("placed", start.job, worker.rank, plain(worker))
        if self._doomed(start.job):
            self._held.hold(start, worker, meeting)
        else:
            self._launch(gang, start, worker, meeting)

    def _launch(self, gang: RegisteredGang, start: StartWorkers, worker: Worker, meeting: Meeting) -> None:
        seat = gang.seats[worker.rank]
        if problem := conflict(worker, self._living()):
            self.report(failed(gang, (worker.rank,), problem))
            return
        try:
            if not self._images.is_over(start, worker, partial(self._start_held, start.job)):
                self._held.hold(start, worker, meeting)
                return
            runtime = self._containers.runtime if start.spec.image else None
            launch_spec = equip(start, worker, seat.token, meeting, self._context, runtime)
            process = begin_worker(seat, launch_spec, self._output, self._journal, self._around)
        except Mistaken as problem:
            self._end_mistaken(gang, seat, str(problem))
            return
        except CannotStart as problem:
            self.report(failed(gang, (worker.rank,), str(problem)))
            return
        seat = gang.seats[worker.rank]
        found = entry(process.pid)
        self._journal.add("alive", seat.job, seat.rank, process.pid, 0 if found is None else found.start_ticks)
        self._processes[seat.token] = self._by_pid[process.pid] = process
        self._seats[seat.token] = seat
        self.training.began(seat.token, seat.job, seat.attempt, seat.rank, launch_spec)
        process.limit(start.max_duration_ms)
        self.report(started(gang, seat))

    def _living(self) -> Iterator[tuple[JobId, Worker]]:
        """Every worker that has or may have a process here, with its job and place, also of older attempts."""
        for seat in (*self._seats.values(), *self._left()):
            if seat.worker is not None:
                yield seat.job, worker_from(seat.worker)

    def _end_mistaken(self, gang: RegisteredGang, seat: Seat, problem: str) -> None:
        """Let a worker fail whose job file is wrong, and say why where its user looks: in the job and its output."""
        self._output.note(seat.job, seat.attempt, seat.rank, f"muster: {problem}\n".encode())
        self.report(started(gang, seat))
        self.report(exited(gang.generation, seat, CANNOT_RUN, problem=problem), synced=True)

    def _to_each(
        self,
        gang: RegisteredGang,
        command: SignalStop | KillWorkers,
        act: Callable[[WorkerProcess], None],
        *,
        unstarted: int,
    ) -> None:
        """Act on living workers, report ended ones again, and report that unknown ones were never started."""
        for rank in command.ranks:
            seat = gang.seats.get(rank)
            if seat is None:
                continue
            process = self._processes.get(seat.token)
            if process is not None:
                if not seat.is_told:
                    self._journal.add("told", seat.job, seat.rank)
                act(process)
            elif seat.end is not None:
                self._repeat(gang, seat)
            elif not self._is_left(seat.token):
                self._call_off(gang, seat, unstarted)
        if unknown := tuple(rank for rank in command.ranks if rank not in gang.seats):
            self.report(failed(gang, unknown, "never started"))

    def _call_off(self, gang: RegisteredGang, seat: Seat, code: int) -> None:
        """End a worker that waits to be started."""
        self._held.drop(seat.job, seat.rank)
        self._journal.add("told", seat.job, seat.rank)
        self.report(exited(gang.generation, seat, code), synced=True)

    def _gone(self, process: WorkerProcess) -> None:
        """A worker and all it started are gone: report it, or start what waited for it."""
        del self._processes[process.token]
        self._noted.append(process)
        seat = self._seats.pop(process.token)
        training = self.training.ended(process.token, process.exit_code)
        process.is_told = process.is_told or training.has_left
        self._may_have_strangers = True
        self._around.loop.after(0, self.reap)
        if seat.token in self._register.doomed:
            self._journal.add("gone", seat.token)
            self._start_held(seat.job)
            return
        if process.is_told and not seat.is_told:  # by the supervisor itself
            self._journal.add("told", seat.job, seat.rank)
        gang = self._register.gangs[seat.job]
        code = KILLED if process.exit_code is None else process.exit_code
        is_done, last_step = training.has_finished or process.has_finished, training.last_step
        problem = problem_noted(process.launch_spec.folder, code)
        end = exited(
            gang.generation, seat, code, oom=process.oom, has_finished=is_done, problem=problem, last_step=last_step
        )
        self.report(end, synced=True)
        for job in self._register.forgettable():
            self._journal.add("forgot", job)
            self._claimed.pop(job, None)

    def _start_held(self, job: JobId) -> None:
        """Start what waited, if nothing else is in its way."""
        gang = self._register.gangs.get(job)
        if gang is None or self._doomed(job):
            return
        for start, worker, meeting in self._held.take(job):
            self._launch(gang, start, worker, meeting)

    def _saved(self, process: WorkerProcess, notice: Saved) -> None:
        seat = self._seats[process.token]
        if seat.token not in self._register.doomed:
            self.report(CheckpointSaved(at_ms=now_ms(), job=seat.job, attempt=seat.attempt, cost_ms=notice.cost_ms))

    def _noticed(self, process: WorkerProcess, notice: TrainingNotice) -> None:
        if process.token not in self._register.doomed:
            self.training.noticed(process.token, notice)

    def _overdue(self, process: WorkerProcess) -> None:
        """A worker is about to be ended for its maximum duration. Recorded before, so that a successor says so too."""
        seat = self._seats[process.token]
        if seat.token not in self._register.doomed:
            self._journal.add("told", seat.job, seat.rank)
            self._journal.add("overdue", seat.job, seat.rank)

    def _repeat(self, gang: RegisteredGang, seat: Seat) -> None:
        """Report again what is known of a worker. Nothing is known of a worker that waits to be started."""
        if seat.end is not None:
            self._journal.add("report", self._register.last_number + 1, seat.end)
        elif seat.token in self._processes:
            self.report(started(gang, seat))

    def _is_known(self, pid: int) -> bool:
        """True when it is known what this child of the supervisor belongs to."""
        is_first = pid in self._by_pid or pid in self._companions or self.training.uploads.owns(pid)
        return is_first or any(process.owns(pid) for process in self._processes.values())
