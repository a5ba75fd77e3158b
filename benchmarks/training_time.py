"""How much of its time a gang of 16,384 GPUs trains at Llama 3's failure rate: one JSON line per case.

The production engine places the gang, asks it for checkpoints as often as `core.lifecycle.checkpoints` finds best, and
starts it again on spare nodes after each interruption. Only the clock and the machines are simulated. Effective
training time is productive time over elapsed time, from the first start to the end, as Meta counts it.

What an interruption costs was measured with Slurm and torchrun for the case with default settings, see docs/PROOFS.md.
The origin of the other cases' costs is not recorded there. A save counts as complete when training goes on.
"""

import json
import sys
import time
from dataclasses import dataclass

from muster.engine.engine import Engine
from muster.estimates.training import Habits, Training
from muster.model.ids import GpuType, JobId, NodeName, PoolName, TeamPath, TierName
from muster.model.job import Job, JobState
from muster.model.node import ClusterSpec, Node
from muster.model.policy import DAY_MS, DEFAULT_TIERS, HOUR_MS, Policy
from muster.model.resources import GPU_MILLI, Request
from muster.model.scenario import Scenario
from muster.model.spec import CheckpointSpec, JobSpec, Retry, RoleSpec
from muster.sim.faults import FaultRates
from muster.sim.hashed_log import HashedLog
from muster.sim.node_faults import NodeFaults
from muster.sim.world import World

JOB = JobId("llama")
GPUS = 8
LIMIT_MS = 366 * DAY_MS
RETRIES = 1_000
"""A gang that a broken GPU stops exits with an error code. That costs the job one of its retries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One gang, how often it is interrupted, and what that costs."""

    name: str
    nodes: int = 2_048
    spares: int = 48
    days: int = 54
    interrupted_every_ms: int = 31 * HOUR_MS // 10
    """Mean time between interruptions of the whole gang, whatever its size."""
    gpu_part: float = 0.5
    """The part of the interruptions that come from a single GPU. The others take the whole node."""
    repair_ms: int = DAY_MS
    detect_ms: int
    start_ms: int
    save_ms: int
    """How long training stands still for a checkpoint."""
    seed: int = 1


CASES = (
    Case(name="asynchronous saves, tuned rendezvous", detect_ms=4_200, start_ms=24_000, save_ms=130),
    Case(name="synchronous saves, tuned rendezvous", detect_ms=4_200, start_ms=24_000, save_ms=1_700),
    Case(name="synchronous saves, default settings", detect_ms=26_000, start_ms=58_000, save_ms=1_700),
    Case(name="asynchronous saves, four minutes to restart", detect_ms=26_000, start_ms=214_000, save_ms=130),
)


class LongRun:
    """One job on one cluster, from its submission to its end."""

    def __init__(self, case: Case) -> None:
        self._case = case
        cluster = _cluster(case.nodes + case.spares)
        habits = Habits(restart_cost_ms=case.detect_ms + case.start_ms, save_every_ms=0, save_cost_ms=case.save_ms)
        self.world = World(cluster.nodes, habits)
        self.engine = Engine(
            scenario=Scenario(now_ms=0, cluster=cluster, teams=(), tiers=DEFAULT_TIERS, policy=Policy()),
            log=HashedLog(),
            backend=self.world,
        )
        self._node_faults = NodeFaults(_rates(case), cluster.nodes, frozenset[PoolName](), case.seed)
        self.engine.submit(_spec(case), 0, job=JOB)
        self.training = Training(JOB, case.days * DAY_MS, size=case.nodes)
        self.world.expect(self.training)

    @property
    def job(self) -> Job:
        """The engine's record of the job."""
        return self.engine.state.jobs[JOB]

    def to_the_end(self) -> None:
        """Go from moment to moment until the job has ended."""
        now_ms = 0
        while self.job.ended_ms is None:
            self.world.advance(now_ms)
            fault_ms = self._node_faults.next_ms
            if fault_ms is not None and fault_ms <= now_ms:
                with self.engine.batch():
                    self._node_faults.befall(self.world, now_ms)
                    self.engine.observe(*self.world.poll())
            self.engine.observe(*self.world.poll())
            self.engine.tick(now_ms)
            self.engine.observe(*self.world.poll())
            moments = (self.world.next_ms, self.engine.next_ms, self._node_faults.next_ms)
            now_ms = max(now_ms, min(at_ms for at_ms in moments if at_ms is not None))


def measure(case: Case) -> dict[str, object]:
    """Run one case to its end and return how the time was spent."""
    run = LongRun(case)
    cpu_s = time.process_time()
    run.to_the_end()
    cpu_s = time.process_time() - cpu_s
    job = run.job
    useful, lost, saving = run.training.gpu_ms()
    elapsed_ms = (job.ended_ms or 0) - (job.first_started_ms or 0)
    whole = elapsed_ms * case.nodes * GPUS
    return {
        "case": case.name,
        "gpus": case.nodes * GPUS,
        "spare_nodes": case.spares,
        "finished": job.state is JobState.SUCCEEDED,
        "days": round(elapsed_ms / DAY_MS, 2),
        "interruptions": run.training.faults,
        "detect_s": case.detect_ms / 1000,
        "start_s": case.start_ms / 1000,
        "save_s": case.save_ms / 1000,
        "effective_training_time": round(useful / whole, 4),
        "repeated_and_restarting": round(lost / whole, 4),
        "saving": round(saving / whole, 4),
        "without_gpus": round(1 - (useful + lost + saving) / whole, 4),
        "cpu_s": round(cpu_s, 1),
    }


def _cluster(nodes: int) -> ClusterSpec:
    return ClusterSpec(
        nodes=tuple(Node(name=NodeName(f"n{index}"), gpus=GPUS, gpu_type=GpuType("h100")) for index in range(nodes))
    )


def _rates(case: Case) -> FaultRates:
    """Fault rates of one node and one GPU that together interrupt the gang as often as the case says."""
    node_ms = case.nodes * case.interrupted_every_ms
    return FaultRates(
        mtbf=int(node_ms / (1 - case.gpu_part)) if case.gpu_part < 1 else 0,
        gpu=int(node_ms * GPUS / case.gpu_part) if case.gpu_part > 0 else 0,
        repair=case.repair_ms,
    )


def _spec(case: Case) -> JobSpec:
    request = Request(gpu_milli=GPUS * GPU_MILLI)
    return JobSpec(
        name="llama",
        team=TeamPath("research"),
        tier=TierName("standard"),
        roles=(RoleSpec(name="worker", workers_min=case.nodes, workers_max=case.nodes, request=request),),
        max_duration_ms=LIMIT_MS,
        checkpoint=CheckpointSpec(path="/checkpoints"),
        retry=Retry(limit=RETRIES),
    )


def main(chosen: list[str]) -> None:
    """Run all cases, or the cases whose name contains one of the given words."""
    for case in CASES:
        if chosen and not any(word in case.name for word in chosen):
            continue
        sys.stdout.write(json.dumps(measure(case)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
