"""How good start estimates are: one JSON line per policy. Run as `python -m benchmarks.estimates [TRACE [POLICY…]]`.

A trace is replayed. For every n-th job that a plan leaves waiting, its start is estimated. An estimate uses only what
is known at that moment, and is compared with the job's first start in the replay. Each estimate is corrected by earlier
estimates whose jobs had started by then; `raw` is the estimate without this correction.

A job that starts before the clock moves did not have to wait, although it took more than one plan. Such jobs are
counted separately. They neither count in the figures nor correct later estimates, because an estimate of "now" that
comes true says nothing.
"""

import json
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.estimates.calibration import DEPTHS, Calibration, depth_step
from muster.estimates.sampling import Arrival
from muster.estimates.starts import RECENT_ARRIVALS, StartEstimate, estimate_starts
from muster.estimates.training import Habits
from muster.formats.rules.cluster_file import cluster_from_text
from muster.formats.traces.trace_file import read_trace
from muster.model.ids import JobId
from muster.model.plan import Plan
from muster.model.policy import DAY_MS
from muster.model.trace import Trace
from muster.policies import NamedPolicy, find_policy
from muster.sim.replay import Circumstances, replay

TRACE = "philly_4w_600gpu.csv.gz"
CLUSTER = "75x8"
HABITS = Habits(restart_cost_ms=30_000)
FUTURES = 6
HORIZON_MS = 2 * DAY_MS
PROBE_EVERY = {"easy": 150, "fair": 150, "muster": 3}
"""Every n-th waiting job gets an estimate. Most jobs wait under the first two policies, few under the last."""
POLICIES = ("fair", "muster")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One estimate, before (`raw`) and after (`told`) its correction."""

    made_ms: int
    waiting: int
    raw: StartEstimate
    told: StartEstimate
    started_ms: int | None = None


class Prober:
    """The planner of the core, which also estimates the start of every n-th job that it leaves waiting."""

    def __init__(self, every: int) -> None:
        self.probes: dict[JobId, Probe] = {}
        self.cpu_s = 0.0
        self._every = every
        self._left_waiting = 0
        self._seen: dict[JobId, None] = {}
        self._recent: deque[Arrival] = deque(maxlen=RECENT_ARRIVALS)
        self._calibration = Calibration()

    def __call__(self, snapshot: Snapshot, now_ms: int) -> Plan:
        """Plan, note which jobs start, and estimate the start of every n-th new job that is left waiting."""
        made = plan(snapshot, now_ms)
        newcomers = self._newcomers(snapshot)
        for start in made.starts:
            self._note_start(start.job, now_ms)
        served = {start.job for start in made.starts} | {eviction.for_job for eviction in made.evictions}
        for job in newcomers:
            if job not in served:
                self._left_waiting += 1
                if self._left_waiting % self._every == 0:
                    self._probe(snapshot, job, now_ms)
        return made

    def _newcomers(self, snapshot: Snapshot) -> list[JobId]:
        """Waiting jobs that were not seen before. The queue keeps the order in which they came."""
        found: list[JobId] = []
        for job in reversed(snapshot.queue.jobs.values()):
            if job.id in self._seen and not job.attained_gpu_ms:
                break
            if job.id not in self._seen:
                found.append(job.id)
        found.reverse()
        for job_id in found:
            self._seen[job_id] = None
            waiting = snapshot.queue.jobs[job_id]
            self._recent.append(Arrival(submitted_ms=waiting.submitted_ms, spec=waiting.spec))
        return found

    def _note_start(self, job: JobId, now_ms: int) -> None:
        probe = self.probes.get(job)
        if probe is not None and probe.started_ms is None:
            self.probes[job] = replace(probe, started_ms=now_ms)
            if now_ms > probe.made_ms:
                self._calibration.learn(probe.raw, waiting=probe.waiting, made_ms=probe.made_ms, started_ms=now_ms)

    def _probe(self, snapshot: Snapshot, job: JobId, now_ms: int) -> None:
        began_s = time.process_time()
        raw = estimate_starts(
            snapshot.scenario(now_ms),
            snapshot.run_times,
            jobs=[job],
            runs=FUTURES,
            seed=1,
            horizon_ms=HORIZON_MS,
            recent=tuple(self._recent),
            habits=HABITS,
            entitlements=snapshot.entitlements,
        )[job]
        waiting = len(snapshot.queue.jobs)
        told = self._calibration.correct(raw, waiting=waiting, now_ms=now_ms)
        self.probes[job] = Probe(made_ms=now_ms, waiting=waiting, raw=raw, told=told)
        self.cpu_s += time.process_time() - began_s


def figures(policy: str, asked: Sequence[Probe], futures_cpu_s: float) -> dict[str, Any]:
    """All figures of one policy."""
    probes = [probe for probe in asked if probe.started_ms != probe.made_ms]
    by_depth: dict[str, Any] = {}
    for step, label in enumerate(_labels()):
        some = [probe for probe in probes if depth_step(probe.waiting) == step]
        if some:
            by_depth[label] = _figures(some)
    return {
        "case": "start estimates",
        "policy": policy,
        **_figures(probes),
        "started_at_once": len(asked) - len(probes),
        "raw_p90_coverage": _coverage([(probe, probe.raw.p90_ms) for probe in probes]),
        "raw_p50_coverage": _coverage([(probe, probe.raw.p50_ms) for probe in probes]),
        "by_queue_depth": by_depth,
        "cpu_ms_per_estimate": round(1000 * futures_cpu_s / max(len(asked), 1)),
    }


def _figures(probes: Sequence[Probe]) -> dict[str, Any]:
    errors_ms = [
        abs(probe.told.p50_ms - probe.started_ms)
        for probe in probes
        if probe.told.p50_ms is not None and probe.started_ms is not None
    ]
    return {
        "probes": len(probes),
        "p90_coverage": _coverage([(probe, probe.told.p90_ms) for probe in probes]),
        "p50_coverage": _coverage([(probe, probe.told.p50_ms) for probe in probes]),
        "beyond_horizon": sum(probe.told.p90_ms is None for probe in probes),
        "median_wait_s": _seconds([(probe.started_ms or probe.made_ms) - probe.made_ms for probe in probes]),
        "median_abs_error_s": _seconds(errors_ms),
    }


def _coverage(estimates: Sequence[tuple[Probe, int | None]]) -> float:
    """How often jobs started by the estimated time. Beyond the horizon, any start counts."""
    covered = sum(
        probe.started_ms is not None and (at_ms is None or probe.started_ms <= at_ms) for probe, at_ms in estimates
    )
    return round(covered / max(len(estimates), 1), 3)


def _seconds(values_ms: Sequence[int]) -> int | None:
    return round(median(values_ms) / 1000) if values_ms else None


def _labels() -> list[str]:
    edges = (0, *DEPTHS)
    return [*(f"{low}-{high}" for low, high in zip(edges, DEPTHS, strict=False)), f">{DEPTHS[-1]}"]


def measure(trace: Trace, policy: NamedPolicy) -> Prober:
    """Replay a trace and make estimates on the way."""
    prober = Prober(PROBE_EVERY[policy.name])
    replay(trace, cluster_from_text(CLUSTER), replace(policy, planner=prober), Circumstances(habits=HABITS))
    return prober


def main() -> None:
    """Measure on the trace that is named, or on the default trace in MUSTER_TRACES or tests/data."""
    path = sys.argv[1] if len(sys.argv) > 1 else Path(os.environ.get("MUSTER_TRACES", "tests/data")) / TRACE
    trace = read_trace(path)
    for name in sys.argv[2:] or POLICIES:
        prober = measure(trace, find_policy(name))
        print(json.dumps(figures(name, list(prober.probes.values()), prober.cpu_s)), flush=True)


if __name__ == "__main__":
    main()
