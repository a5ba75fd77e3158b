"""Metrics for Prometheus, in a registry of their own.

Counters and histograms are updated as things happen. Gauges are computed when a scraper asks.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from muster.live.control_plane import WriterRound
from muster.live.leadership.reading import ClusterRole, Readable
from muster.live.publishing.attempts import Attempts
from muster.live.watching.progress_watch import ProgressWatch
from muster.model.events import HEALTH, Event, EvictionOrdered, JobStarted, JobSubmitted, NodeChanged
from muster.model.ids import TeamPath, TierName
from muster.model.limits import METRIC_TEAMS, WATCHER_PAGE_EVENTS
from muster.views.job_counts import Counting, JobCounts

_log = logging.getLogger("muster.live")

OTHERS = "(others)"
"""The common label of all teams beyond the `METRIC_TEAMS` largest."""

METRIC_JOBS = 100
"""Running jobs with a step time of their own, the largest first: each is a time series."""

_WAITS_S = (1, 5, 15, 60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 86_400, 3 * 86_400, 7 * 86_400)
_MOMENTS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """All metrics of one control plane."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._cycles = self._histogram("muster_cycle_seconds", "How long a scheduling cycle took.", _MOMENTS_S)
        self._commits = self._histogram(
            "muster_commit_seconds", "How long it took to do and write a batch.", _MOMENTS_S
        )
        self._waits = self._histogram("muster_job_wait_seconds", "From submission to first start.", _WAITS_S, "tier")
        self._submissions = self._counter("muster_submissions", "Jobs and arrays that were let in.", "tier")
        self._starts = self._counter("muster_starts", "Attempts that got their GPUs.", "tier")
        self._preemptions = self._counter("muster_preemptions", "Jobs that were told to leave for others.", "reason")
        self._restarts = self._counter("muster_restarts", "Attempts that ended and are tried again.", "cause")
        self._verdicts = self._counter(
            "muster_health_verdicts", "Steps that health had nodes and GPUs take.", "verdict"
        )
        self._endings = self._counter("muster_jobs_ended", "Jobs that have ended.", "state")
        self._allocated = self._counter("muster_allocated_gpu_seconds", "GPU time of attempts that are over.")
        self._useful = self._counter("muster_useful_gpu_seconds", "What of it need not be done again.")
        self._requests = self._counter("muster_http_requests", "Requests answered.", "method", "route", "status")
        self._answers = self._histogram("muster_http_answer_seconds", "Until an answer began.", _MOMENTS_S, "route")
        self.watchers: float = 0
        """Open event streams."""
        self._control: Readable | None = None
        self._attempts: Attempts | None = None
        self._version = 0

    def watch(self, control: Readable) -> None:
        """Follow a control plane from now on. Called once, before its writer starts."""
        self._control = control
        self._attempts = Attempts(control.state)
        self._version = control.feed.version
        self.registry.register(_ViewFigures(self, control))
        control.feed.subscribe(self._follow)

    def watch_progress(self, progress: ProgressWatch) -> None:
        """Tell also how fast trainings are. Called once, after `watch`."""
        assert self._control is not None
        self.registry.register(_TrainingFigures(progress, self._control))

    def on_round(self, turn: WriterRound) -> None:
        """The writer has finished a round."""
        if turn.requests or turn.reports:
            self._commits.observe(turn.write_s)
        if turn.has_planned:
            self._cycles.observe(turn.plan_s)

    def answered(self, *, method: str, route: str, status: int, after_s: float) -> None:
        """A request was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._answers.labels(route).observe(after_s)

    def text(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return generate_latest(self.registry)

    def _follow(self) -> None:
        """Count what was written. Runs on the writer's thread, which an error in the metrics must not stop."""
        control = self._control
        assert control is not None  # It is subscribed by `watch`.
        while (events := control.feed.after(self._version, WATCHER_PAGE_EVENTS)) != ():
            if events is None:
                self._version = control.feed.version
                return
            self._version = events[-1][0]
            try:
                for _, published in events:
                    self._count(published.event, control)
            except Exception:  # noqa: BLE001 - metrics must not stop the writer
                _log.exception("events could not be counted")

    def _count(self, event: Event, control: Readable) -> None:
        match event:
            case JobSubmitted(spec=spec):
                self._submissions.labels(spec.tier).inc()
            case JobStarted(job=job, attempt=attempt):
                record = control.state.jobs[job]
                self._starts.labels(record.spec.tier).inc()
                if attempt == 1:
                    self._waits.labels(record.spec.tier).observe((event.at_ms - record.submitted_ms) / 1000)
            case EvictionOrdered(why=why):
                self._preemptions.labels(why.value).inc()
            case NodeChanged(by=by, node=node) if by == HEALTH:
                self._verdicts.labels(node.state.value).inc()
            case _:
                pass
        assert self._attempts is not None  # Made by `watch`.
        for ended in self._attempts.follow(event, control.state):
            self._allocated.inc(ended.allocated_gpu_ms / 1000)
            self._useful.inc(ended.useful_gpu_ms / 1000)
            if ended.state.is_final:
                self._endings.labels(ended.state.value).inc()
            else:
                self._restarts.labels(ended.cause.value).inc()

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, meaning, labels, buckets=buckets, registry=self.registry)


class _ViewFigures(Collector):
    """Gauges, computed when a scraper asks."""

    def __init__(self, metrics: Metrics, control: Readable) -> None:
        self._metrics = metrics
        self._control = control
        self._counting = Counting()

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        view = self._control.view
        counts = self._counting.job_counts(view)
        yield _crowd("muster_jobs_waiting", "Jobs that wait for GPUs.", counts.waiting)
        yield _crowd("muster_jobs_running", "Jobs that have GPUs.", counts.running)
        yield from _gpus(counts)
        oldest = GaugeMetricFamily("muster_oldest_wait_seconds", "How long the first has waited.", labels=["tier"])
        for tier, submitted_ms in counts.oldest_ms.items():
            oldest.add_metric([tier], max(view.now_ms - submitted_ms, 0) / 1000)
        yield oldest
        nodes = GaugeMetricFamily("muster_nodes", "Nodes by state.", labels=["state"])
        for name, count in sorted(counts.nodes.items()):
            nodes.add_metric([name], count)
        yield nodes
        bad = sum(len(node.bad_gpus) for node in view.nodes.values())
        yield GaugeMetricFamily("muster_bad_gpus", "GPUs that must not be used.", value=bad)
        yield GaugeMetricFamily("muster_partial_gangs", "Gangs of which a part is gone.", value=counts.partial_gangs)
        strangers = "Gangs that run on a node and are not known."
        yield GaugeMetricFamily("muster_quarantined_gangs", strangers, value=counts.quarantined)
        is_up = 0 if self._control.has_stopped or self._control.trouble else 1
        yield GaugeMetricFamily("muster_writer_up", "1 while changes can be written.", value=is_up)
        leads = 1 if self._control.role is ClusterRole.LEADER else 0
        yield GaugeMetricFamily("muster_leader", "1 while this control plane leads, 0 on a standby.", value=leads)
        yield GaugeMetricFamily("muster_log_version", "Events in the log.", value=view.version)
        yield GaugeMetricFamily("muster_event_watchers", "Event streams that are open.", value=self._metrics.watchers)


class _TrainingFigures(Collector):
    """Step times and verdicts of running jobs, computed when a scraper asks."""

    def __init__(self, progress: ProgressWatch, control: Readable) -> None:
        self._progress = progress
        self._control = control

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        running = self._control.view.running
        steps = GaugeMetricFamily(
            "muster_step_seconds", "The median step of a training in the last minutes.", labels=["job"]
        )
        # The largest jobs have a time series of their own. A monitoring system stores them all.
        largest = sorted(running.values(), key=lambda job: (-len(job.workers), job.number, job.id))[:METRIC_JOBS]
        for job in largest:
            progress = self._progress.progress(job.id)
            if progress is not None and progress.p50_us is not None and progress.attempt == job.attempt:
                steps.add_metric([job.id], progress.p50_us / 1_000_000)
        yield steps
        slow, hung = 0, 0
        for job in running.values():
            slow, hung = slow + len(job.stragglers), hung + (job.hang is not None)
        yield GaugeMetricFamily("muster_stragglers", "Ranks that are slower than those that do the same.", value=slow)
        yield GaugeMetricFamily("muster_jobs_hanging", "Trainings that stand still.", value=hung)


def _gpus(counts: JobCounts) -> Iterator[GaugeMetricFamily]:
    total = GaugeMetricFamily("muster_gpus", "GPUs there are.", labels=["type"])
    used = GaugeMetricFamily("muster_gpus_used", "GPUs in use; shares count as parts.", labels=["type"])
    for gpu_type, count in sorted(counts.gpus.items()):
        total.add_metric([gpu_type], count)
        used.add_metric([gpu_type], counts.gpus_used_milli[gpu_type] / 1000)
    yield total
    yield used


def _crowd(name: str, meaning: str, counts: Mapping[tuple[TierName, TeamPath], int]) -> GaugeMetricFamily:
    """Jobs by tier and team. The largest teams have their own label; all others share one."""
    by_team: dict[str, int] = {}
    for (_, team), count in counts.items():
        by_team[team] = by_team.get(team, 0) + count
    named = frozenset(sorted(by_team, key=lambda team: (-by_team[team], team))[:METRIC_TEAMS])
    summed: dict[tuple[str, str], int] = {}
    for (tier, team), count in counts.items():
        label = (tier, team if team in named else OTHERS)
        summed[label] = summed.get(label, 0) + count
    family = GaugeMetricFamily(name, meaning, labels=["tier", "team"])
    for labels, count in sorted(summed.items()):
        family.add_metric(labels, count)
    return family
