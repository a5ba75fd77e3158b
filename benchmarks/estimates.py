"""How good start estimates are, one JSON line per case. Run as `python -m benchmarks.estimates [CASE…|ROLE…]`.

A trace is replayed. For every n-th job that a plan leaves waiting, its start is estimated. An estimate uses only what
is known at that moment, and is compared with the job's first start in the replay. Then the estimates are corrected one
after another, as a server would: by earlier estimates whose jobs had started by then, or still waited beyond it. `raw`
is the estimate without this correction. With MUSTER_RECORDS=FOLDER uncorrected estimates are kept there and used again,
because they take nearly all of the time and do not depend on the correction.

The figures are about jobs that waited for at least a minute: an estimate of "now" that comes true says nothing. Which
cases judge and which tune is written in `estimate_cases`.
"""

import json
import os
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.estimate_cases import TRIALS, Role, case_of
from benchmarks.policy_cases import Case, traces_folder
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.estimates.calibration import Calibration, OpenEstimate
from muster.estimates.sampling import Arrival
from muster.estimates.starts import RECENT_ARRIVALS, StartEstimate, estimate_starts
from muster.estimates.training import Habits
from muster.model.ids import JobId
from muster.model.plan import Plan
from muster.model.policy import DAY_MS, MINUTE_MS
from muster.policies import find_policy
from muster.sim.replay import Circumstances, replay

HABITS = Habits(restart_cost_ms=30_000)
FUTURES = 10
HORIZON_MS = 7 * DAY_MS
WAITED_MS = MINUTE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One estimate before its correction, and when its job started."""

    made_ms: int
    raw: StartEstimate
    started_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """The same with the estimate that a user would be told."""

    probe: Probe
    told: StartEstimate


class Prober:
    """The planner of the core, which also estimates the start of every n-th job that it leaves waiting."""

    def __init__(self, every: int) -> None:
        self.probes: dict[JobId, Probe] = {}
        self._every = every
        self._left_waiting = 0
        self._seen: dict[JobId, None] = {}
        self._recent: deque[Arrival] = deque(maxlen=RECENT_ARRIVALS)

    def __call__(self, snapshot: Snapshot, now_ms: int) -> Plan:
        """Plan, note which jobs start, and estimate the start of every n-th new job that is left waiting."""
        made = plan(snapshot, now_ms)
        newcomers = self._newcomers(snapshot)
        for start in made.starts:
            probe = self.probes.get(start.job)
            if probe is not None and probe.started_ms is None:
                self.probes[start.job] = replace(probe, started_ms=now_ms)
        served = {start.job for start in made.starts} | {eviction.for_job for eviction in made.evictions}
        for job in newcomers:
            if job not in served:
                self._left_waiting += 1
                if self._left_waiting % self._every == 0:
                    self.probes[job] = Probe(made_ms=now_ms, raw=self._estimate(snapshot, job, now_ms))
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

    def _estimate(self, snapshot: Snapshot, job: JobId, now_ms: int) -> StartEstimate:
        return estimate_starts(
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


def corrected(probes: Sequence[Probe]) -> list[Corrected]:
    """Correct estimates in the order in which they were made, each by what was known at that time."""
    calibration, found = Calibration(), list[Corrected]()
    unlearnt: list[Probe] = []
    for probe in probes:
        begun = [each for each in unlearnt if each.started_ms is not None and each.started_ms <= probe.made_ms]
        for each in sorted(begun, key=_started_ms):
            if _started_ms(each) > each.made_ms:
                calibration.learn(each.raw, made_ms=each.made_ms, started_ms=_started_ms(each))
            unlearnt.remove(each)
        still_open = [OpenEstimate(each.raw, each.made_ms) for each in unlearnt]
        told = calibration.correct(probe.raw, now_ms=probe.made_ms, still_open=still_open)
        found.append(Corrected(probe=probe, told=told))
        unlearnt.append(probe)
    return found


def _started_ms(probe: Probe) -> int:
    assert probe.started_ms is not None
    return probe.started_ms


def figures(name: str, nodes: int, asked: Sequence[Corrected]) -> dict[str, Any]:
    """All figures of one trial."""
    waited = [each for each in asked if _wait_ms(each.probe) is None or (_wait_ms(each.probe) or 0) >= WAITED_MS]
    sizes = cohorts([each.probe for each in waited])
    lengths = [each.told.p90_ms - each.probe.made_ms for each in waited if each.told.p90_ms is not None]
    ratios = [
        (each.told.p90_ms - each.probe.made_ms) / wait_ms
        for each in waited
        if each.told.p90_ms is not None and (wait_ms := _wait_ms(each.probe))
    ]
    return {
        "case": f"start estimates, {name}",
        "role": TRIALS[name].role,
        "policy": TRIALS[name].policy,
        "nodes": nodes,
        "waited": len(waited),
        "cohorts": len(sizes),
        "largest_cohort": max(sizes, default=0),
        "p90_coverage": _coverage([(each.probe, each.told.p90_ms) for each in waited]),
        "p90_coverage_within_horizon": _coverage(
            [(each.probe, each.told.p90_ms) for each in waited if each.told.p90_ms is not None]
        ),
        "p50_coverage": _coverage([(each.probe, each.told.p50_ms) for each in waited]),
        "raw_p90_coverage": _coverage([(each.probe, each.probe.raw.p90_ms) for each in waited]),
        "beyond_horizon": len(waited) - len(lengths),
        "median_wait_s": _seconds([_wait_ms(each.probe) or 0 for each in waited]),
        "median_p90_s": _seconds(lengths),
        "median_p90_over_wait": round(median(ratios), 2) if ratios else None,
        "started_sooner": len(asked) - len(waited),
    }


def cohorts(probes: Sequence[Probe]) -> list[int]:
    """The sizes of cohorts, in each of which no estimate was made after the first of them had come true."""
    sizes: list[int] = []
    known_from_ms: int | None = None
    for probe in sorted((each for each in probes if each.started_ms is not None), key=_started_ms):
        if known_from_ms is None or probe.made_ms >= known_from_ms:
            sizes.append(0)
            known_from_ms = probe.started_ms
        sizes[-1] += 1
    return sizes


def _wait_ms(probe: Probe) -> int | None:
    return None if probe.started_ms is None else probe.started_ms - probe.made_ms


def _coverage(estimates: Sequence[tuple[Probe, int | None]]) -> float:
    """How often jobs started by the estimated time. Beyond the horizon, any start counts."""
    covered = sum(
        probe.started_ms is not None and (at_ms is None or probe.started_ms <= at_ms) for probe, at_ms in estimates
    )
    return round(covered / max(len(estimates), 1), 3)


def _seconds(values_ms: Sequence[int]) -> int | None:
    return round(median(values_ms) / 1000) if values_ms else None


def measure(name: str, case: Case) -> list[Probe]:
    """Replay a trial and make estimates on the way."""
    trial = TRIALS[name]
    prober = Prober(trial.every)
    replay(case.trace, case.cluster, replace(find_policy(trial.policy), planner=prober), Circumstances(habits=HABITS))
    return list(prober.probes.values())


def probes_of(name: str, case: Case, records: Path | None) -> list[Probe]:
    """The uncorrected estimates of a trial: as they were kept, or measured and kept if there is a folder for them."""
    kept = None if records is None else records / f"{name}.json"
    if kept is not None and kept.exists():
        return [
            Probe(made_ms=made, raw=StartEstimate(p50_ms=p50, p90_ms=p90), started_ms=started)
            for made, p50, p90, started in json.loads(kept.read_text())
        ]
    probes = measure(name, case)
    if kept is not None:
        rows = [(each.made_ms, each.raw.p50_ms, each.raw.p90_ms, each.started_ms) for each in probes]
        kept.write_text(json.dumps(rows))
    return probes


def main() -> None:
    """Measure the trials that are named, or have a role; without names those that are judged and tuned.

    Traces are in MUSTER_TRACES.
    """
    groups = {role.value: [name for name in TRIALS if TRIALS[name].role is role] for role in Role}
    folder, records = traces_folder(), os.environ.get("MUSTER_RECORDS")
    for name in [
        each for asked in sys.argv[1:] or ["judged", "bursts", "tuned"] for each in groups.get(asked, [asked])
    ]:
        case = case_of(name, folder)
        probes = probes_of(name, case, Path(records) if records else None)
        print(json.dumps(figures(name, case.nodes, corrected(probes))), flush=True)


if __name__ == "__main__":
    main()
