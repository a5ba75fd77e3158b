"""A fake whose gangs save by steps: every process writes its part of a step, and copies of the parts follow later.

A gang begins to step when all of its processes are up. If it cannot restore the step that it was told, it says so and
waits to be ended, or gives up soon after, as its script says. A gang that has lost a process stands still, except under
torchft. Scripts without `shards` behave as in `backend`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from muster.backends.fake.backend import FakeBackend
from muster.backends.fake.checkpoint_files import CheckpointFiles, StepFiles
from muster.backends.fake.process import FakeGang, Process
from muster.backends.fake.script import GangScript, ShardScript
from muster.model.events import CheckpointDamaged, CheckpointUploaded, ShardsSaved
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, StartWorkers
from muster.model.records import evolve
from muster.model.spec import Launch

COPY_MS = 20_000
"""From a part on the disk of its node to its copy on the neighbour."""
UPLOAD_RETRY_MS = 10 * 60_000
UPLOAD_TRIES = 30
"""Storage that refuses for hours is given up, so that no schedule goes on for ever."""
COMPLAINT_MS = 5 * 60_000
"""How often a gang that cannot be restored repeats this while it waits: a report may get lost."""
PART_BYTES = 1_000


@dataclass(slots=True, kw_only=True)
class SteppedRun:
    """The training of one attempt."""

    attempt: int
    gang: tuple[int, ...]
    """The ranks of its first gang. They begin together."""
    told: dict[int, int | None] = field(default_factory=dict)
    """The step that each rank was told to resume from."""
    since_ms: int | None = None
    """When it began to step; None before, and when it cannot be restored."""
    base: int = 0
    """The step that it began with."""
    saved_step: int = 0
    """The step that it saved last, or began with."""
    cannot_restore: bool = False

    def step_at(self, now_ms: int, step_ms: int) -> int:
        """The step that it has reached."""
        return self.base + (0 if self.since_ms is None else (now_ms - self.since_ms) // step_ms)


class TrainingBackend(FakeBackend):
    """Scripted gangs that save by steps."""

    def __init__(self, scripts: Mapping[JobId, Sequence[GangScript]] | None = None, *, now_ms: int = 0) -> None:
        super().__init__(scripts, now_ms=now_ms)
        self.files = CheckpointFiles()
        self.misled: list[str] = []
        """Attempts whose ranks were told to resume from different steps."""
        self._runs: dict[JobId, SteppedRun] = {}
        self._refusing_until_ms = 0

    def refuse_uploads(self, for_ms: int) -> None:
        """Durable storage refuses every copy for a while."""
        self._refusing_until_ms = self.now_ms + for_ms

    def send(self, command: Command) -> None:
        """Carry out the command, and note what new processes are told to resume from."""
        super().send(command)
        gang = self._gangs[command.job]
        is_accepted = (command.attempt, command.generation) == (gang.attempt, gang.generation)
        if isinstance(command, StartWorkers) and is_accepted:
            self._enlist(gang, command)

    def lose_node(self, node: NodeName, *, noticed_after_ms: int = 0) -> None:
        """Take a node away with all its processes and the parts on its disk."""
        super().lose_node(node, noticed_after_ms=noticed_after_ms)
        self.files.lose(node)

    def _enlist(self, gang: FakeGang, command: StartWorkers) -> None:
        run = self._runs.get(command.job)
        if run is None or run.attempt != command.attempt:
            ranks = tuple(worker.rank for worker in command.gang)
            run = self._runs[command.job] = SteppedRun(attempt=command.attempt, gang=ranks)
        for worker in command.workers:
            process = gang.processes.get(worker.rank)
            if process is not None and process.script.shards is not None and worker.rank not in run.told:
                run.told[worker.rank] = command.resume_step
        if len({run.told[rank] for rank in run.gang if rank in run.told}) > 1 and run.since_ms is None:
            self.misled.append(
                f"{command.job}: ranks of attempt {command.attempt} are told different steps: {run.told}"
            )

    def _come_up(self, process: Process) -> None:
        super()._come_up(process)
        gang, run = self._gangs.get(process.job), self._runs.get(process.job)
        if gang is None or run is None or process.script.shards is None or not process.is_running:
            return
        if run.attempt == process.attempt and run.since_ms is None and not run.cannot_restore:
            self._begin(gang, run)

    def _begin(self, gang: FakeGang, run: SteppedRun) -> None:
        """Restore and begin to step, once every process of the first gang is up or was told to leave before."""
        first = [gang.processes[rank] for rank in run.gang if rank in gang.processes]
        if len(first) < len(run.gang) or not all(each.is_running or each.is_told for each in first):
            return
        members = [each for each in first if each.is_running]
        step = run.told[members[0].worker.rank]
        rank = None if step is None else self.files.broken_rank(members[0].job, step)
        if step is not None and rank is not None:
            run.cannot_restore = True
            self._give_up(members, step, rank)
            return
        run.base = run.saved_step = step or 0
        run.since_ms = self.now_ms

    def _give_up(self, members: list[Process], step: int, rank: int) -> None:
        """Say that a step cannot be restored. What follows is up to the script."""
        self._complain(members[rank % len(members)], step, rank)
        for process in members:
            shards = process.script.shards
            if shards is not None and shards.gives_up_ms is not None:
                self._plan(shards.gives_up_ms, partial(self._exit, process, code=1))

    def _complain(self, process: Process, step: int, rank: int) -> None:
        """Say that a step cannot be restored, again and again until the process is told to leave."""
        if not process.is_alive or process.is_told:
            return
        problem = "its part is damaged in all places"
        damaged = CheckpointDamaged(
            at_ms=self.now_ms, job=process.job, attempt=process.attempt, step=step, rank=rank, problem=problem
        )
        self._say(process, damaged)
        self._plan(COMPLAINT_MS, partial(self._complain, process, step, rank))

    def _finish(self, process: Process, *, code: int, oom: bool = False) -> None:
        """A gang that waits because it cannot be restored does not come to its end."""
        run = self._runs.get(process.job)
        is_waiting = run is not None and run.attempt == process.attempt and run.cannot_restore
        if not is_waiting or process.is_told:
            super()._finish(process, code=code, oom=oom)

    def _ask(self, gang: FakeGang) -> None:
        running = [each for each in gang.processes.values() if each.is_running]
        if running and running[0].script.shards is not None:
            self._plan(running[0].script.save_cost_ms, partial(self._save, running[0]))
        else:
            super()._ask(gang)

    def _save(self, process: Process) -> None:
        if process.script.shards is None:
            super()._save(process)
        elif process.is_running:
            self._save_step(process, process.script.shards)

    def _save_step(self, process: Process, shards: ShardScript) -> None:
        """Let every member write its part of the present step, one node after another."""
        gang, run = self._gangs.get(process.job), self._runs.get(process.job)
        if gang is None or run is None or run.attempt != process.attempt or run.since_ms is None:
            return
        members, step = _members(gang, process), run.step_at(self.now_ms, shards.step_ms)
        if not members or step <= run.saved_step:
            return
        run.saved_step = step
        files = self.files.begin(process.job, step, process.attempt, world=len(members))
        nodes = tuple(dict.fromkeys(each.worker.node for each in members))
        for place, node in enumerate(nodes):
            if place == shards.silent_node:
                continue
            there = [(rank, each) for rank, each in enumerate(members) if each.worker.node == node]
            write = partial(self._write, files, there, nodes[(place + 1) % len(nodes)])
            if place * shards.skew_ms:
                self._plan(place * shards.skew_ms, write)
            else:
                write()
        upload_ms = shards.upload_ms + (len(nodes) - 1) * shards.skew_ms
        self._plan(upload_ms, partial(self._upload, files, members[0], shards.upload_failures))

    def _write(self, files: StepFiles, there: list[tuple[int, Process]], neighbour: NodeName) -> None:
        """The processes of one node write their parts, as far as they are alive, and the node reports it."""
        alive = [(rank, process) for rank, process in there if process.is_running]
        if not alive or files.is_removed:
            return
        first, ranks = alive[0][1], tuple(rank for rank, _ in alive)
        for rank in ranks:
            files.write(rank, first.worker.node, self.now_ms)
            if neighbour != first.worker.node:
                self._plan(COPY_MS, partial(self._copy, files, rank, first.worker.node, neighbour))
        report = ShardsSaved(
            at_ms=self.now_ms,
            job=files.job,
            attempt=files.attempt,
            node=first.worker.node,
            step=files.step,
            world=files.world,
            ranks=ranks,
            bytes=PART_BYTES * len(ranks),
            cost_ms=first.script.save_cost_ms,
        )
        self._say(first, report)

    def _copy(self, files: StepFiles, rank: int, source: NodeName, target: NodeName) -> None:
        if target not in self._lost_nodes:
            files.copy(rank, source=source, target=target)

    def _upload(self, files: StepFiles, process: Process, failures: int, tried: int = 1) -> None:
        """Copy a checkpoint to durable storage, again if that fails. This goes on after its attempt has ended."""
        if process.worker.node in self._lost_nodes or files.is_removed:
            return
        uploaded = CheckpointUploaded(at_ms=self.now_ms, job=files.job, attempt=files.attempt, step=files.step)
        if tried <= failures or self.now_ms < self._refusing_until_ms:
            self._say(process, evolve(uploaded, problem="access denied"))
            if tried < UPLOAD_TRIES:
                self._plan(UPLOAD_RETRY_MS, partial(self._upload, files, process, failures, tried + 1))
        elif files.upload():
            self._say(process, uploaded)


def _members(gang: FakeGang, process: Process) -> list[Process]:
    """The processes that save together, by rank; none when the gang stands still or only this process leaves."""
    present = [gang.processes[rank] for rank in sorted(gang.processes)]
    is_torchft = gang.spec is not None and gang.spec.launch is Launch.TORCHFT
    if not is_torchft and any(each.is_up and not each.is_alive and not each.is_told for each in present):
        return []
    running = [each for each in present if each.is_running]
    staying = [each for each in running if not each.is_told]
    return [] if staying and process.is_told else staying or running
