"""How far running trainings are, which of their ranks are slow, and whether they stand still.

Reports of ranks come in, and what follows from them goes out: progress for readers, events for verdicts that changed,
and signals about nodes for those who watch their health. What is decided is in `core.stragglers`. Verdicts stand in the
record of the job. So a verdict that was lost on its way is reported again, and one that was found before a restart of
the control plane stays until it is over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from muster.core.stragglers.attempt import AttemptProgress
from muster.core.stragglers.node_speeds import NodeSpeeds
from muster.live.watching.hang_reports import SAID_AGAIN_MS, HangReports
from muster.model.events import ObservedEvent, StragglerFound, StragglerGone
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, JobState
from muster.model.telemetry import RankProgress, Signal, Straggler, Telemetry
from muster.views.view import View

SIGNAL = "custom.straggler"
"""The signal about a node with a slow rank. Its value is the slowdown in thousandths."""

SIGNAL_EVERY_MS = 10_000
"""How often it is repeated while it holds."""

VERDICTS_PER_ATTEMPT = 200
"""Verdicts on the ranks of one attempt that are written. A job whose ranks take turns in being slow is just uneven."""

ENDED_PROGRESS_KEPT = 1_000
"""Jobs that have ended whose last step is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """How far a training is."""

    attempt: int
    step: int
    last_step_ms: int | None
    p50_us: int | None
    p99_us: int | None
    ranks: tuple[RankProgress, ...] = ()
    """The newest report of each rank, while the attempt lasts."""
    timed: tuple[RankProgress, ...] = ()
    """The same of those reports in which steps were measured."""


class ProgressWatch:
    """A `Watch` over the ranks of all running jobs."""

    def __init__(self, *, hangs: HangReports) -> None:
        self._hangs = hangs
        self._came: list[RankProgress] = []
        self._attempts: dict[JobId, _Followed] = {}
        self._speeds = NodeSpeeds()
        self._shown: dict[JobId, JobProgress] = {}
        self._signalled_ms: dict[NodeName, int] = {}

    def progress(self, job: JobId) -> JobProgress | None:
        """How far a job is; None when its ranks have not reported. May be called from any thread."""
        return self._shown.get(job)

    def reports_steps(self, job: Job) -> bool:
        """True when a rank of the present attempt has reported. May be called from any thread."""
        known = self._shown.get(job.id)
        return known is not None and known.attempt == job.attempt

    def take(self, value: Telemetry) -> None:
        """Note what a rank reported, until the next look."""
        if isinstance(value, RankProgress):
            self._came.append(value)

    def look(self, view: View, now_ms: int) -> Sequence[ObservedEvent | Telemetry]:
        """Progress as it is now, and the verdicts and signals that follow."""
        self._sort_in(view, now_ms)
        self._forget(view)
        found: list[ObservedEvent | Telemetry] = []
        for followed in self._attempts.values():
            followed.progress.look(followed.job, now_ms)
            self._shown[followed.job.id] = _shown(followed.progress)
            if followed.job.state is JobState.RUNNING:
                found += followed.on_stragglers(self._speeds, now_ms)
                found += self._on_hang(followed, now_ms)
        return [*found, *self._signals(now_ms)]

    def _sort_in(self, view: View, now_ms: int) -> None:
        """Give each report to its attempt. Reports of attempts that are over are dropped."""
        for report in self._came:
            job = view.running.get(report.job)
            if job is None or report.attempt != job.attempt:
                continue
            followed = self._attempts.get(job.id)
            if followed is None or followed.job.attempt != job.attempt:
                if followed is not None:
                    followed.progress.teach(self._speeds)
                followed = self._attempts[job.id] = _Followed(job)
            followed.progress.take(report, now_ms)
        self._came.clear()

    def _forget(self, view: View) -> None:
        """Drop attempts that are over, and the progress of jobs that ended long ago."""
        for name in list(self._attempts):
            followed, job = self._attempts[name], view.running.get(name)
            if job is not None and job.attempt == followed.job.attempt:
                followed.job = job
                continue
            followed.progress.teach(self._speeds)
            self._hangs.forget(name)
            if name in self._shown:
                self._shown[name] = replace(self._shown[name], ranks=(), timed=())
            del self._attempts[name]
        if len(self._shown) > len(self._attempts) + ENDED_PROGRESS_KEPT:
            ended = [name for name in self._shown if name not in view.jobs]
            for name in ended[: len(ended) // 2]:
                del self._shown[name]

    def _on_hang(self, followed: "_Followed", now_ms: int) -> list[ObservedEvent]:
        nodes = {rank: report.node for rank, report in followed.progress.ranks.items()}
        event = self._hangs.report(followed.job, followed.progress.hangs.hang, nodes, now_ms)
        return [] if event is None else [event]

    def _signals(self, now_ms: int) -> Iterator[Signal]:
        """One signal for each node with a slow rank, now and then, and one when it has none any more."""
        worst: dict[NodeName, int] = {}
        for followed in self._attempts.values():
            for each in followed.slow:
                worst[each.node] = max(worst.get(each.node, 0), each.slowdown_milli)
        for node, slowdown_milli in worst.items():
            if now_ms - self._signalled_ms.get(node, -SIGNAL_EVERY_MS) >= SIGNAL_EVERY_MS:
                self._signalled_ms[node] = now_ms
                yield Signal(node=node, at_ms=now_ms, signal=SIGNAL, value=slowdown_milli, verdict="suspect")
        for node in [each for each in self._signalled_ms if each not in worst]:
            del self._signalled_ms[node]
            yield Signal(node=node, at_ms=now_ms, signal=SIGNAL, value=1000, verdict="ok")


class _Followed:
    """One attempt, and what was said of it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.progress = AttemptProgress(job)
        self.slow: tuple[Straggler, ...] = ()
        self._said_ms: dict[int, int] = {}
        self._said = 0

    def on_stragglers(self, speeds: NodeSpeeds, now_ms: int) -> Iterator[ObservedEvent]:
        """What differs from the record of the job."""
        self.slow = self.progress.stragglers(speeds)
        found = {each.rank: each for each in self.slow}
        known = {each.rank for each in self.job.stragglers}
        for rank, straggler in found.items():
            if rank not in known and self._said < VERDICTS_PER_ATTEMPT and self._may_say(rank, now_ms):
                yield StragglerFound(at_ms=now_ms, job=self.job.id, attempt=self.job.attempt, straggler=straggler)
        for rank in sorted(known - found.keys()):
            if self._may_say(rank, now_ms):
                yield StragglerGone(at_ms=now_ms, job=self.job.id, attempt=self.job.attempt, rank=rank)

    def _may_say(self, rank: int, now_ms: int) -> bool:
        """True when nothing was said of the rank a moment ago. It is taken to be said then."""
        if now_ms - self._said_ms.get(rank, -SAID_AGAIN_MS) < SAID_AGAIN_MS:
            return False
        self._said_ms[rank] = now_ms
        self._said += 1
        return True


def _shown(progress: AttemptProgress) -> JobProgress:
    times = progress.steps
    return JobProgress(
        attempt=progress.attempt,
        step=progress.step,
        last_step_ms=progress.last_step_ms,
        p50_us=None if times is None else times.p50_us,
        p99_us=None if times is None else times.p99_us,
        ranks=tuple(progress.ranks.values()),
        timed=tuple(progress.timed.values()),
    )
