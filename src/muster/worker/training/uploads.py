"""The uploaders of a node: for each job that trains here one process that copies its checkpoints to other places.

An uploader has the environment of the job, with its secrets, and its own pipe for notices, which outlives the workers.
It is started when a process of the job has made its board, and again if it dies. When the last worker of the job has
left the node it is told to finish, and has a bounded time for that. It bears a token that no journal knows: so the
successor of a supervisor that died ends it as a stray, and the next attempt of the job starts another one.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from functools import partial

from muster.model.ids import JobId
from muster.model.node_limits import (
    PUMP_BYTES,
    UPLOAD_END_MS,
    UPLOAD_LOG_BYTES,
    UPLOAD_LOG_FILES,
    UPLOAD_NICE,
    UPLOAD_PAUSE_MAX_MS,
    UPLOAD_TRIES_MOST,
    UPLOAD_TRY_PAUSE_MS,
)
from muster.worker.launch.command_lines import RUN, SETUP
from muster.worker.launch.environment import TOKEN_VARIABLE
from muster.worker.launch.launch_spec import NodeContext
from muster.worker.launch.runtime_folder import remove
from muster.worker.loop import Loop, Timer
from muster.worker.notices import NoticeReader, Uploaded
from muster.worker.output.masking import Mask
from muster.worker.output.segments import Segments, attempt_folder
from muster.worker.processes import marks
from muster.worker.processes.companions import Companions
from muster.worker.processes.strays import badge
from muster.worker.processes.trees import ProcessTree
from muster.worker.program import program
from muster.worker.training.report_rate import ReportRate
from muster.worker.training.training_worker import NodeReports, TrainingWorker
from muster.worker.training.upload_reports import UploadReports

PROGRAM = (*program("muster.train.uploader"), "--grace-s", str(UPLOAD_END_MS // 1000))
"""Run by the interpreter of the supervisor, whatever the job uses."""

UNTIL_IDLE = "--until-idle"
"""Has an uploader copy what there is, and end by itself."""

NEEDED = ("MUSTER_CHECKPOINT_PATH", "MUSTER_HOT", "MUSTER_RUN_ID", "MUSTER_NODE")
"""A job without one of these variables has nothing to upload, or no place for it."""

DROPPED = (RUN, SETUP, "MUSTER_BOARDS", "MUSTER_TOKEN")
"""Variables of a worker that an uploader does not get: it trains nothing."""

KILL_MARGIN_MS = 30_000
"""How much longer than it was told an uploader may take before it is killed."""

PAUSE_MS = 1_000
"""The first pause before an uploader that has died is started again. It doubles each time."""

LOG = "uploader"
"""The folder with the output of an uploader, beside those of the workers."""


class Upload:
    """The uploader of one job, while its process lives."""

    def __init__(
        self, worker: TrainingWorker, context: NodeContext, loop: Loop, reports: NodeReports, program: tuple[str, ...]
    ) -> None:
        """Start the process. Raises `OSError` when that is not possible."""
        self.worker = worker
        self.is_told = False
        self.began_s = time.monotonic()
        self._loop = loop
        self._reports = UploadReports(worker.job, worker.attempt, reports, ReportRate())
        self._killing: Timer | None = None
        self._token = f"{badge(context.home, context.node)}{os.urandom(8).hex()}"
        self._folder = context.workers / self._token
        self._folder.mkdir(mode=0o700)
        with contextlib.ExitStack() as opened:
            opened.callback(remove, self._folder)
            os.mkfifo(self._folder / "notice", 0o600)
            self._notices = NoticeReader(self._folder / "notice")
            opened.callback(os.close, self._notices.file)
            self._output, given = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(self._output, False)
            opened.callback(os.close, self._output)
            try:
                self.pid = self._spawn(program, given)
            finally:
                os.close(given)
            opened.pop_all()
        self._tree = ProcessTree(token=self._token, main=self.pid, cgroup=None)
        logs = attempt_folder(context.home, worker.job, worker.attempt) / LOG
        self._log = Segments(logs, segment_bytes=UPLOAD_LOG_BYTES, segments_max=UPLOAD_LOG_FILES)
        self._mask = Mask(worker.launch_spec.secrets)
        loop.watch(self._output, readable=self._pump)
        loop.watch(self._notices.file, readable=self._read_notices)

    @property
    def run(self) -> str:
        """The run whose checkpoints it copies."""
        return self.worker.launch_spec.variables["MUSTER_RUN_ID"]

    def owns(self, pid: int) -> bool:
        """True when this orphan belongs to the uploader."""
        return self._tree.owns(pid)

    def tell(self) -> None:
        """Have it finish what it copies, within a bounded time."""
        if not self.is_told:
            self._tree.signal_group(signal.SIGTERM)
            self.bound()

    def bound(self) -> None:
        """Kill it if it has not finished in time."""
        self.is_told = True
        self._killing = self._loop.after(UPLOAD_END_MS + KILL_MARGIN_MS, self.kill)

    def kill(self) -> None:
        """End it with everything it started, at once."""
        self._tree.kill(frozenset())

    def end(self) -> None:
        """Its first process is gone: let go of everything."""
        self.kill()
        if self._killing is not None:
            self._killing.cancel()
        self._read_notices()
        self._pump()
        self._log.write(self._mask.close())
        self._log.close()
        for file in (self._output, self._notices.file):
            self._loop.watch(file)
            os.close(file)
        remove(self._folder)

    def _spawn(self, program: tuple[str, ...], output: int) -> int:
        variables = {name: value for name, value in self.worker.launch_spec.variables.items() if name not in DROPPED}
        own = {TOKEN_VARIABLE: self._token, "MUSTER_CHECKPOINT_NOTICE": str(self._folder / "notice")}
        mark = marks.mark_of(self._token)
        with marks.inherited(mark):
            pid = os.posix_spawn(
                program[0],
                program,
                {**variables, **own, "CUDA_VISIBLE_DEVICES": ""},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, output, 1),
                    (os.POSIX_SPAWN_DUP2, output, 2),
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGTERM),
            )
        marks.fasten(pid, mark)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, UPLOAD_NICE)
        return pid

    def _pump(self) -> None:
        try:
            data = os.read(self._output, PUMP_BYTES)
        except OSError:
            return
        if data:
            self._log.write(self._mask.feed(data))
        else:
            self._loop.watch(self._output)

    def _read_notices(self) -> None:
        for notice in self._notices.read():
            if isinstance(notice, Uploaded):
                self._reports.add(notice)


class Uploads:
    """The uploaders of one node, one for each job at the most."""

    def __init__(
        self,
        context: NodeContext,
        loop: Loop,
        reports: NodeReports,
        companions: Companions,
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        self._context = context
        self._loop = loop
        self._reports = reports
        self._companions = companions
        self._program = program
        self._wanted: dict[JobId, TrainingWorker] = {}
        """Jobs that train here, each with a worker whose environment the uploader gets."""
        self._running: dict[JobId, Upload] = {}
        self._failures: dict[JobId, int] = {}
        self._unsent: dict[JobId, tuple[TrainingWorker, int]] = {}
        """Jobs that are over and of which not everything could be sent, and how often that was tried again."""
        self._is_ending = False
        self.ended: Callable[[str], None] = lambda _: None
        """Called with a run when its uploader has ended and no other is started."""

    @property
    def is_empty(self) -> bool:
        """True when no uploader lives."""
        return not self._running

    @property
    def pids(self) -> tuple[int, ...]:
        """The first processes of all uploaders."""
        return tuple(each.pid for each in self._running.values())

    @property
    def runs(self) -> frozenset[str]:
        """The runs whose checkpoints are copied, or will be."""
        return frozenset(
            (
                *(each.run for each in self._running.values()),
                *(each.launch_spec.variables["MUSTER_RUN_ID"] for each in self._wanted.values()),
                *(each.launch_spec.variables["MUSTER_RUN_ID"] for each, _ in self._unsent.values()),
            )
        )

    def owns(self, pid: int) -> bool:
        """True when this child of the supervisor belongs to an uploader."""
        return any(pid == each.pid or each.owns(pid) for each in self._running.values())

    def wanted(self, worker: TrainingWorker) -> None:
        """A process of the worker trains: its job needs an uploader, unless it has one or nothing to upload."""
        known = self._wanted.get(worker.job)
        if all(worker.launch_spec.variables.get(name) for name in NEEDED) and (
            known is None or known.attempt < worker.attempt
        ):
            self._wanted[worker.job] = worker
            self._unsent.pop(worker.job, None)
            self._failures[worker.job] = 0
            self._start(worker.job)

    def over(self, job: JobId) -> None:
        """No worker of the job is left here."""
        worker, running = self._wanted.pop(job, None), self._running.get(job)
        self._failures.pop(job, None)
        if running is not None:
            running.tell()
        elif worker is not None:
            self._finish(worker)

    def end_all(self) -> None:
        """Kill all uploaders, and start none any more."""
        self._is_ending = True
        self._wanted.clear()
        self._unsent.clear()
        for each in self._running.values():
            each.kill()

    def _gone(self, gone: Upload, status: int) -> None:
        """The process of an uploader has ended."""
        job = gone.worker.job
        del self._running[job]
        gone.end()
        # It was told before it could listen.
        code = os.waitstatus_to_exitcode(status)
        is_unready = gone.is_told and code == -signal.SIGTERM
        if job not in self._wanted and is_unready:
            self._finish(gone.worker)
        elif job not in self._wanted and code != 0 and self._tries_again(gone.worker):
            pass
        elif job not in self._wanted:
            self._unsent.pop(job, None)
            self.ended(gone.run)
        elif gone.is_told or time.monotonic() - gone.began_s > UPLOAD_PAUSE_MAX_MS / 1000:
            self._failures[job] = 0
            self._start(job)
        else:
            self._start_later(job)

    def _start(self, job: JobId) -> None:
        """Start the uploader of a job that needs one. One of an older attempt finishes first."""
        worker, running = self._wanted.get(job), self._running.get(job)
        if worker is None or self._is_ending:
            return
        if running is not None:
            if running.worker.attempt != worker.attempt:
                running.tell()
            return
        try:
            self._launch(worker, self._program)
        except (OSError, ValueError):  # out of processes, files or disk; a value that no environment can hold
            self._start_later(job)

    def _tries_again(self, worker: TrainingWorker) -> bool:
        """Not everything was sent, because storage cannot be reached, say: try again later; False after many times."""
        _, tries = self._unsent.get(worker.job, (worker, 0))
        if self._is_ending or tries >= UPLOAD_TRIES_MOST:
            return False
        self._unsent[worker.job] = (worker, tries + 1)
        self._loop.after(UPLOAD_TRY_PAUSE_MS, partial(self._try_again, worker))
        return True

    def _try_again(self, worker: TrainingWorker) -> None:
        if worker.job in self._unsent and worker.job not in self._running:
            self._finish(worker)

    def _finish(self, worker: TrainingWorker) -> None:
        """Copy what is left of a job that has no worker here any more."""
        with contextlib.suppress(OSError, ValueError):  # then its next attempt copies it, if it has one
            self._launch(worker, (*self._program, UNTIL_IDLE)).bound()

    def _launch(self, worker: TrainingWorker, program: tuple[str, ...]) -> Upload:
        upload = self._running[worker.job] = Upload(worker, self._context, self._loop, self._reports, program)
        self._companions.add(upload.pid, partial(self._gone, upload))
        return upload

    def _start_later(self, job: JobId) -> None:
        pause_ms = min(PAUSE_MS << min(self._failures[job], 20), UPLOAD_PAUSE_MAX_MS)
        self._failures[job] += 1
        self._loop.after(pause_ms, partial(self._start, job))
