"""The training on one node: what its processes report, how far they are, and what is announced to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from muster.model.ids import JobId
from muster.model.node_limits import BOARD_LOOK_MS
from muster.model.reports import CheckpointDamaged
from muster.model.telemetry import RankProgress
from muster.worker.launch.launch_spec import LaunchSpec, NodeContext
from muster.worker.loop import Loop
from muster.worker.notices import (
    BoardMade,
    Damaged,
    Measures,
    ShardWritten,
    StackTarget,
    TrainingNotice,
    Uploaded,
)
from muster.worker.processes.companions import Companions
from muster.worker.training.announcements import Announcements
from muster.worker.training.metrics_file import MetricsFile, metrics_path
from muster.worker.training.report_rate import ReportRate
from muster.worker.training.shard_reports import ShardReports
from muster.worker.training.training_worker import NodeReports, TrainingWorker
from muster.worker.training.upload_reports import UploadReports
from muster.worker.training.uploads import Uploads
from muster.worker.training.worker_boards import Progress, WorkerBoards


@dataclass(frozen=True, slots=True)
class TrainingEnd:
    """How the training of a worker has ended."""

    has_left: bool = False
    """True when it has left because of an announcement, even if the command to leave came after that."""
    has_finished: bool = False
    """True when it was over by itself, also if it was told to leave."""
    last_step: tuple[int, int] | None = None
    """Its last step, and when that was finished; None when it had no boards."""


@dataclass(slots=True, kw_only=True)
class TrainingGang:
    """The part of one job's present attempt that is on this node."""

    shards: ShardReports
    uploads: UploadReports
    metrics: MetricsFile
    rate: ReportRate


class NodeTraining:
    """All workers of a node that train."""

    def __init__(self, context: NodeContext, loop: Loop, reports: NodeReports, companions: Companions) -> None:
        self._context = context
        self._loop = loop
        self._reports = reports
        self._workers: dict[str, TrainingWorker] = {}
        self._gangs: dict[tuple[JobId, int], TrainingGang] = {}
        self._is_looking = False
        self.announcements = Announcements(self.of, loop)
        self.uploads = Uploads(context, loop, reports, companions)

    def began(self, token: str, job: JobId, attempt: int, rank: int, launch_spec: LaunchSpec) -> None:
        """A worker was started."""
        boards = WorkerBoards(launch_spec.folder)
        worker = TrainingWorker(job=job, attempt=attempt, rank=rank, launch_spec=launch_spec, boards=boards)
        self._workers[token] = worker

    def noticed(self, token: str, notice: TrainingNotice) -> None:
        """A worker says something about its training."""
        worker = self._workers[token]
        match notice:
            case BoardMade(rank=rank):
                self._open_board(worker, rank)
            case StackTarget(rank=rank, pid=pid):
                if rank in worker.stack_pids or len(worker.stack_pids) < len(worker.boards) + 1:
                    worker.stack_pids[rank] = pid
            case Measures() if worker.launch_spec.is_lead:
                self._gang(worker.job, worker.attempt).metrics.add(notice, self._reports.clock())
            case Measures():
                pass
            case _:
                self._stored(worker.job, worker.attempt, notice)

    def ended(self, token: str, exit_code: int | None) -> TrainingEnd:
        """A worker is gone: report what it saved, before its end is reported."""
        worker = self._workers.pop(token, None)
        if worker is None:
            return TrainingEnd()
        gang = self._gangs.get((worker.job, worker.attempt))
        if gang is not None:
            gang.shards.flush()
            if not any(self.of(worker.job, worker.attempt)):
                del self._gangs[worker.job, worker.attempt]
                gang.metrics.close()
        boards = worker.boards
        has_left, has_finished = boards.are_told and boards.have_left, exit_code == 0 and boards.have_finished
        now_ms = self._reports.clock()
        last_step = max(((each.step, now_ms - each.since_step_ms) for each in boards.progress()), default=None)
        boards.close()
        if not any(self.of(worker.job)):
            self.announcements.forget(worker.job)
            self.uploads.over(worker.job)
        return TrainingEnd(has_left, has_finished, last_step)

    @property
    def runs(self) -> frozenset[str]:
        """The runs that have a worker or an uploader here."""
        names = (worker.launch_spec.variables.get("MUSTER_RUN_ID", "") for worker in self._workers.values())
        return self.uploads.runs.union(names)

    def has_boards(self, token: str) -> bool:
        """True when a process of the worker has made its board."""
        worker = self._workers.get(token)
        return worker is not None and bool(worker.boards)

    def of(self, job: JobId, attempt: int | None = None) -> Iterator[tuple[str, TrainingWorker]]:
        """The workers of a job here, by token."""
        for token, worker in tuple(self._workers.items()):
            if worker.job == job and attempt in (None, worker.attempt):
                yield token, worker

    def _stored(self, job: JobId, attempt: int, notice: ShardWritten | Uploaded | Damaged) -> None:
        """A worker says something about the checkpoints of its job."""
        gang, at_ms = self._gang(job, attempt), self._reports.clock()
        match notice:
            case ShardWritten():
                gang.shards.add(notice)
            case Uploaded():
                gang.uploads.add(notice)
            case Damaged():
                if not gang.rate.allows():
                    return
                gang.shards.flush()
                self._reports.report(
                    CheckpointDamaged(
                        at_ms=at_ms,
                        job=job,
                        attempt=attempt,
                        step=notice.step,
                        rank=notice.rank,
                        problem=notice.problem,
                        is_replaced=notice.is_replaced,
                    )
                )
            case _:
                assert_never(notice)

    def _gang(self, job: JobId, attempt: int) -> TrainingGang:
        known = self._gangs.get((job, attempt))
        if known is None:
            reports, context, rate = self._reports, self._context, ReportRate()
            shards = ShardReports(job, attempt, context.node, self._loop, reports.report, reports.clock)
            uploads = UploadReports(job, attempt, reports, rate)
            metrics = MetricsFile(metrics_path(context.home, job, attempt))
            known = TrainingGang(shards=shards, uploads=uploads, metrics=metrics, rate=rate)
            self._gangs[job, attempt] = known
        return known

    def _open_board(self, worker: TrainingWorker, rank: int) -> None:
        worker.boards.made(rank)
        worker.boards.forget_earlier()
        if worker.boards:
            self.uploads.wanted(worker)
            if not self._is_looking:
                self._is_looking = True
                self._look()

    def _look(self) -> None:
        """Report how far all ranks are, again and again while there are boards."""
        watched = [worker for worker in self._workers.values() if worker.boards]
        self._is_looking = bool(watched)
        for worker in watched:
            for progress in worker.boards.progress():
                self._reports.measure(self._progress(worker, progress))
        if watched:
            self._loop.after(BOARD_LOOK_MS, self._look)

    def _progress(self, worker: TrainingWorker, found: Progress) -> RankProgress:
        at_ms = self._reports.clock()
        return RankProgress(
            job=worker.job,
            attempt=worker.attempt,
            at_ms=at_ms,
            rank=found.rank,
            world=found.world,
            worker=worker.rank,
            node=self._context.node,
            step=found.step,
            step_ms=at_ms - found.since_step_ms,
            steps=found.steps,
            step_us=found.step_us,
            busy_us=found.busy_us,
            p99_us=found.p99_us,
            is_saving=found.is_saving,
            is_closed=found.is_closed,
            board=found.board,
        )
