"""All ranks of one attempt: who is whose peer, which of them are slow, and whether they stand still."""

from muster.core.stragglers.hangs import HangWatch
from muster.core.stragglers.node_speeds import NodeSpeeds
from muster.core.stragglers.peers import PeerGroup, SlowRank
from muster.core.stragglers.step_times import StepPercentiles, StepTimes
from muster.model.ids import NodeName
from muster.model.job import Job, Worker
from muster.model.telemetry import RankProgress, Straggler

SPEAKER_SILENT_MS = 30_000
"""When nothing was heard of the rank that speaks for all for so long, another one does."""

PERCENTILES_MS = 5_000
"""How often the percentiles of step times are worked out anew."""

_Peers = tuple[str, int]
"""The role of a rank, and its stage of the pipeline."""


class AttemptProgress:
    """What is known of one attempt of a job from the reports of its ranks."""

    def __init__(self, job: Job) -> None:
        self.attempt = job.attempt
        self.ranks: dict[int, RankProgress] = {}
        """The newest report of each rank."""
        self.timed: dict[int, RankProgress] = {}
        """The newest report of each rank in which steps were measured."""
        self.heard_ms: dict[int, int] = {}
        self.steps: StepPercentiles | None = None
        self.hangs = HangWatch(job.started_ms or 0)
        self._job = job
        self._groups: dict[_Peers, PeerGroup] = {}
        self._times = StepTimes()
        self._speaker: int | None = None
        self._timed_ms: int | None = None
        self._roles = {worker.rank: worker.role for worker in job.workers}
        self._presumed = {each.rank: each for each in job.stragglers}
        """Stragglers that were found before the control plane was started anew, and have not reported since."""
        if job.hang is not None:
            self.hangs.presume(job.hang)

    def take(self, report: RankProgress, now_ms: int) -> None:
        """Note what a rank reported. When a rank begins anew, or the world has another size, so do comparisons."""
        before = self.ranks.get(report.rank)
        if before is not None and (report.world != before.world or report.step < before.step):
            self._forget_past(report)
        self.ranks[report.rank] = report
        self.heard_ms[report.rank] = now_ms
        if report.is_closed:
            self._presumed.pop(report.rank, None)
            self._group(report).drop(report.rank)
        elif report.steps:
            self.timed[report.rank] = report
            self._remember(report)
            self._group(report).note(report.rank, report.steps, report.busy_us, now_ms)
            self._time(report, now_ms)

    def look(self, job: Job, now_ms: int) -> None:
        """Draw the conclusions that can be drawn now."""
        if job is not self._job:
            self._job, self._roles = job, {worker.rank: worker.role for worker in job.workers}
        for group in self._groups.values():
            group.weigh(now_ms)
        if self._timed_ms is None or now_ms - self._timed_ms >= PERCENTILES_MS or self.steps is None:
            self.steps, self._timed_ms = self._times.percentiles(), now_ms
        p50_us = self.steps.p50_us if self.steps is not None else 0
        self.hangs.look(self.ranks, self.heard_ms, p50_us, now_ms)

    @property
    def step(self) -> int:
        """The last step that any rank has made."""
        return max([each.step for each in self.ranks.values()], default=0)

    @property
    def last_step_ms(self) -> int | None:
        """When it was made; None before any report."""
        return max([each.step_ms for each in self.ranks.values()], default=None)

    def stragglers(self, speeds: NodeSpeeds) -> tuple[Straggler, ...]:
        """The ranks that are slow now, with where they are."""
        slow = [each for group in self._groups.values() for each in group.slow]
        named = [self._straggler(each, speeds) for each in slow if each.rank in self.ranks]
        return tuple(sorted([*named, *self._presumed.values()], key=lambda each: each.rank))

    def teach(self, speeds: NodeSpeeds) -> None:
        """The attempt is over. Remember how fast its nodes were compared with one another."""
        means: dict[NodeName, list[int]] = {}
        for group in self._groups.values():
            for rank, mean_milli in group.means_milli.items():
                means.setdefault(self.ranks[rank].node, []).append(mean_milli)
        for node, each in means.items():
            speeds.learn(node, sum(each) // len(each))

    def _straggler(self, slow: SlowRank, speeds: NodeSpeeds) -> Straggler:
        report = self.ranks[slow.rank]
        return Straggler(
            rank=slow.rank,
            worker=report.worker,
            node=report.node,
            gpus=self._gpus(report),
            slowdown_milli=slow.slowdown_milli,
            since_ms=slow.since_ms,
            steps=slow.steps,
            usual_milli=speeds.usual_milli(report.node),
        )

    def _gpus(self, report: RankProgress) -> tuple[int, ...]:
        """The device of a rank if its worker has one process for each of its devices, else all of the worker."""
        worker: Worker | None = next((each for each in self._job.workers if each.rank == report.worker), None)
        if worker is None:
            return ()
        beside = sorted([each.rank for each in self.ranks.values() if each.worker == report.worker])
        if len(beside) != len(worker.gpus):
            return worker.gpus
        return (worker.gpus[beside.index(report.rank)],)

    def _time(self, report: RankProgress, now_ms: int) -> None:
        """Note how long steps took, from one rank that speaks for all: the lowest one that is heard of."""
        speaker = self._speaker
        is_silent = speaker is None or now_ms - self.heard_ms.get(speaker, 0) > SPEAKER_SILENT_MS
        if is_silent or (speaker is not None and report.rank <= speaker):
            self._speaker = report.rank
            self._times.note(now_ms, report.steps, report.step_us, report.p99_us)

    def _group(self, report: RankProgress) -> PeerGroup:
        """The ranks that do the same work: of the same role, and of the same stage of a pipeline.

        Stages are taken to be blocks of ranks, as in Megatron, and in a device mesh that begins with the pipeline.
        """
        stages = self._job.spec.parallelism.pipeline
        stage = report.rank * stages // max(report.world, 1) if stages > 1 else 0
        return self._groups.setdefault((self._roles.get(report.worker, ""), stage), PeerGroup())

    def _forget_past(self, report: RankProgress) -> None:
        before = self.ranks[report.rank]
        self._groups.clear()
        self._presumed.clear()
        if report.world != before.world:
            self.ranks.clear()
            self.timed.clear()
            self.heard_ms.clear()

    def _remember(self, report: RankProgress) -> None:
        """Count the rank as slow if it was, until its steps say otherwise."""
        if self._presumed and (known := self._presumed.pop(report.rank, None)) is not None:
            self._group(report).presume(
                SlowRank(
                    rank=known.rank, slowdown_milli=known.slowdown_milli, since_ms=known.since_ms, steps=known.steps
                )
            )
